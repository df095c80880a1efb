#include <iostream>

#include "app/commands.h"
#include "config/reference/reference.h"
#include "router/anthropic/error_form.h"
#include "router/ollama/error_form.h"
#include "router/openai/error/error_table.h"
#include "router/policies/policy_factory.h"
#include "router/telemetry/metrics_reference.h"

namespace penstock {

const std::vector<std::string>& ReferenceTopics() {
  static const std::vector<std::string> topics = {"configuration", "schema", "metrics", "errors"};
  return topics;
}

int RunReference(const std::string& topic) {
  if (topic == "configuration") std::cout << ConfigReference(KnownPolicyNames());
  if (topic == "schema") std::cout << ConfigSchema(KnownPolicyNames());
  if (topic == "metrics") std::cout << MetricsReference();
  if (topic == "errors") std::cout << ErrorReference() << AnthropicErrorReference() << OllamaErrorReference();
  std::cout << std::flush;
  return std::cout ? 0 : 1;
}

}  // namespace penstock
