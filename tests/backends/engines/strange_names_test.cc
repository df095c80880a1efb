// Names and texts of engines that nobody can read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "backends/dialect/json_values.h"
#include "backends/dialect/models_list.h"
#include "backends/engines/ollama/ollama_facts.h"
#include "backends/engines/sglang/sglang_facts.h"
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

TEST(StrangeNames, ModelsOfOllamaBeyondTheBoundAreCounted) {
  std::string tags;
  for (size_t i = 0; i < kMostModels + 7; ++i) absl::StrAppend(&tags, i == 0 ? "" : ",", "{\"name\":\"m", i, "\"}");
  Discovery found;
  ASSERT_TRUE(ReadOllamaTags(absl::StrCat("{\"models\":[", tags, "]}"), &found).ok());
  EXPECT_EQ(found.models.size(), kMostModels);
  EXPECT_EQ(found.models_beyond, 7u);
}

TEST(StrangeNames, StatesOfSglangThatAreTooDeepAreNone) {
  const std::string deep = "{\"max_total_num_tokens\":512,\"internal_states\":[" + std::string(400'000, '[') +
                           std::string(400'000, ']') + "]}";
  Discovery found;
  EXPECT_FALSE(ReadSglangServerInfo(deep, &found).ok());
  EXPECT_TRUE(ReadSglangServerInfo(R"({"max_total_num_tokens":512,"internal_states":[[[1]]]})", &found).ok());
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
