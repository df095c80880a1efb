// The committed documents are those that the program generates.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "config/reference/reference.h"
#include "router/anthropic/error_form.h"
#include "router/ollama/error_form.h"
#include "router/openai/error/error_table.h"
#include "router/policies/policy_factory.h"
#include "router/telemetry/metrics_reference.h"
#include "tests/source_dir.h"

namespace penstock {
namespace {

void ExpectFresh(const std::string& path, const std::string& fresh, const std::string& topic) {
  std::ifstream file(SourcePath(path));
  const std::string committed((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_TRUE(committed == fresh) << path << " is stale: build/release/penstock reference " << topic << " > " << path;
}

TEST(GeneratedDocuments, TheReferenceOfTheConfigurationIsFresh) {
  ExpectFresh("docs/configuration.md", ConfigReference(KnownPolicyNames()), "configuration");
}

TEST(GeneratedDocuments, TheSchemaOfTheConfigurationIsFresh) {
  ExpectFresh("config/schema.json", ConfigSchema(KnownPolicyNames()), "schema");
}

TEST(GeneratedDocuments, TheReferenceOfTheMetricsIsFresh) {
  ExpectFresh("docs/metrics.md", MetricsReference(), "metrics");
}

TEST(GeneratedDocuments, TheReferenceOfTheErrorsIsFresh) {
  ExpectFresh("docs/errors.md", ErrorReference() + AnthropicErrorReference() + OllamaErrorReference(), "errors");
}

}  // namespace
}  // namespace penstock
