#include "backends/dialect/models_list.h"

#include <gtest/gtest.h>

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
}

TEST(ModelsList, AnErrorIsNoList) {
  EXPECT_FALSE(ParseModelsList(RecordedBody("loading-get-v1-models")).ok());
  EXPECT_FALSE(ParseModelsList("").ok());
  EXPECT_FALSE(ParseModelsList("[]").ok());
}

}  // namespace
}  // namespace penstock
