// Names and texts of engines that nobody can read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/dialect/json_values.h"
#include "backends/engines/ollama/ollama_facts.h"
#include "backends/engines/vllm/vllm_facts.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;

TEST(StrangeNames, OfOllamaAreLeftOutAndTheOthersServe) {
  Discovery found;
  ASSERT_TRUE(ReadOllamaTags(R"({"models":[{"name":"a\ud800"},{"name":"b\u001b"},{"name":"c"}]})", &found).ok());
  ASSERT_EQ(found.models.size(), 1u);
  EXPECT_EQ(found.models[0].name, "c");
  EXPECT_TRUE(found.process_per_model);
  EXPECT_THAT(found.left_out, ElementsAre("\"a\xEF\xBF\xBD\"", "\"b?\""));
}

TEST(StrangeNames, OneBrokenCharacterDoesNotHideADocument) {
  Discovery found;
  ASSERT_TRUE(ReadVllmVersion("{\"note\":\"\xff\",\"version\":\"0.11\\udfff\"}", &found).ok());
  EXPECT_EQ(found.version, "0.11\xEF\xBF\xBD");
  EXPECT_TRUE(ParseEngineJson("{\"a\":\xff}").is_discarded());
  EXPECT_TRUE(ParseEngineJson(R"({"a":"\ud800")").is_discarded());
}

}  // namespace
}  // namespace penstock
