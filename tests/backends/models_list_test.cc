#include "backends/dialect/models_list.h"

#include <gtest/gtest.h>

#include "backends/dialect/json_values.h"
#include "tests/backends/recording.h"

namespace penstock {
namespace {

TEST(ModelsList, TheListOfLlamaServerHasTheContextOfASlotAndTheOwner) {
  const auto list = ParseModelsList(RecordedBody("get-v1-models"));
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->models.size(), 1u);
  EXPECT_EQ(list->models[0].name, "tiny-s");
  EXPECT_EQ(list->models[0].max_context, Tokens(2048));
  EXPECT_EQ(list->owner, "llamacpp");
}

TEST(ModelsList, ALoraAdapterHasTheContextOfItsParent) {
  const auto list = ParseModelsList(
      R"({"object":"list","data":[{"id":"base","owned_by":"vllm","root":"base","parent":null,"max_model_len":8192},
          {"id":"lora","owned_by":"vllm","parent":"base","max_model_len":null}]})");
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->models.size(), 2u);
  EXPECT_EQ(list->models[1].name, "lora");
  EXPECT_EQ(list->models[1].max_context, Tokens(8192));
  EXPECT_EQ(list->owner, "vllm");
  EXPECT_EQ(list->models[1].owner, "vllm");
}

TEST(ModelsList, AnAdapterNamesItsBaseAndItsPath) {
  const auto list = ParseModelsList(
      R"({"data":[{"id":"base","root":"org/base","parent":null,"max_model_len":4096},
          {"id":"alias","root":"org/base","parent":null},
          {"id":"lora","root":"/adapters/lora","parent":"base","max_model_len":null},
          {"id":"odd","parent":"odd"}]})");
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->models.size(), 4u);
  EXPECT_EQ(list->models[2].parent, "base");
  EXPECT_EQ(list->models[2].root, "/adapters/lora");
  for (const size_t none : {0, 1, 3}) EXPECT_EQ(list->models[none].parent, "");
}

TEST(ModelsList, AnErrorIsNoList) {
  EXPECT_FALSE(ParseModelsList(RecordedBody("loading-get-v1-models")).ok());
  EXPECT_FALSE(ParseModelsList("").ok());
  EXPECT_FALSE(ParseModelsList("[]").ok());
}

// The library copies documents by recursion.
TEST(ModelsList, ADocumentThatIsTooDeepIsNone) {
  const auto deep = [](size_t depth) {
    return ParseModelsList(R"({"data":[{"id":"m \"[[[","aliases":["n",)" + std::string(depth, '[') +
                           std::string(depth, ']') + "]}]}");
  };
  ASSERT_TRUE(deep(kDeepestEngineJson - 4).ok());
  EXPECT_EQ(deep(kDeepestEngineJson - 4)->models.size(), 2u);
  EXPECT_FALSE(deep(kDeepestEngineJson - 3).ok());
  EXPECT_FALSE(deep(400'000).ok());
}

TEST(ModelsList, OddNamesAndVeryManyModelsAreLeftOut) {
  std::string cards =
      R"({"id":""},{"id":"a\nb"},{"id":"a\u001bb"},{"id":")" + std::string(kLongestModelName + 1, 'x') + "\"}";
  for (size_t i = 0; i < 2 * kMostModels; ++i) cards += ",{\"id\":\"m" + std::to_string(i) + "\"}";
  const auto list = ParseModelsList("{\"data\":[" + cards + "]}");
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list->models.size(), kMostModels);
  EXPECT_EQ(list->left_out.size(), 4u);
  EXPECT_EQ(list->beyond, kMostModels);
  EXPECT_EQ(list->models.front().name, "m0");
}

TEST(ModelsList, AnEntryThatCannotBeReadIsLeftOutAndNamedAndTheOthersServe) {
  for (const std::string& strange :
       {std::string(R"(lora\ud800)"), std::string(R"(lora\udc00)"), std::string("lora\xff")}) {
    const auto list = ParseModelsList(R"({"data":[{"id":"m","owned_by":"vllm","max_model_len":9},{"id":")" + strange +
                                      R"("},{"id":"a\ud83d\ude00\\ud800"},{"id":"odd\u001b[31m"}]})");
    ASSERT_TRUE(list.ok()) << list.status();
    ASSERT_EQ(list->models.size(), 2u) << strange;
    EXPECT_EQ(list->models[0].name, "m");
    EXPECT_EQ(list->models[0].max_context, Tokens(9));
    EXPECT_EQ(list->models[1].name, "a\U0001F600\\ud800");
    EXPECT_EQ(list->left_out, (std::vector<std::string>{"\"lora\xEF\xBF\xBD\"", "\"odd?[31m\""}));
  }
}

TEST(ModelsList, TextThatIsNoJsonIsCalledSo) {
  EXPECT_EQ(ParseModelsList("<html>").status().message(), "models: the answer is no JSON");
  EXPECT_EQ(ParseModelsList("{}").status().message(), "models: no data array");
}

TEST(ModelsList, AVeryLongDocumentIsNotRead) {
  EXPECT_FALSE(ParseModelsList("{\"data\":[],\"x\":\"" + std::string(2 << 20, 'x') + "\"}").ok());
}

}  // namespace
}  // namespace penstock
