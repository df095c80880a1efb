#include "backends/dialect/models_list.h"

#include <gtest/gtest.h>

#include "tests/backends/recording.h"

namespace penstock {
namespace {

TEST(ModelsList, OfLlamaServerTellsTheContextOfASlotAndItsOwner) {
  const auto list = ParseModelsList(RecordedBody("get-v1-models"));
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->models.size(), 1u);
  EXPECT_EQ(list->models[0].name, "tiny-s");
  EXPECT_EQ(list->models[0].max_context, Tokens(2048));
  EXPECT_EQ(KindFromOwner(list->owner), EngineKind::kLlamaCpp);
}

TEST(ModelsList, ALoraAdapterHasTheContextOfItsParent) {
  const auto list = ParseModelsList(
      R"({"object":"list","data":[{"id":"base","owned_by":"vllm","root":"base","parent":null,"max_model_len":8192},
          {"id":"lora","owned_by":"vllm","parent":"base","max_model_len":null}]})");
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->models.size(), 2u);
  EXPECT_EQ(list->models[1].name, "lora");
  EXPECT_EQ(list->models[1].max_context, Tokens(8192));
  EXPECT_EQ(KindFromOwner(list->owner), EngineKind::kVllm);
}

TEST(ModelsList, AnErrorIsNoList) {
  EXPECT_FALSE(ParseModelsList(RecordedBody("loading-get-v1-models")).ok());
  EXPECT_FALSE(ParseModelsList("").ok());
  EXPECT_FALSE(ParseModelsList("[]").ok());
}

TEST(ModelsList, NamesThatUsersChooseTellNoKind) {
  EXPECT_EQ(KindFromOwner("library"), std::nullopt);
  EXPECT_EQ(KindFromOwner(""), std::nullopt);
}

TEST(EngineKindName, EveryKindHasAName) {
  for (const char* name : {"auto", "vllm", "sglang", "llamacpp", "tgi", "ollama", "openai"}) {
    const auto kind = EngineKindFromName(name);
    ASSERT_TRUE(kind.has_value()) << name;
    EXPECT_EQ(EngineKindName(*kind), name);
  }
  EXPECT_EQ(EngineKindFromName("triton"), std::nullopt);
}

}  // namespace
}  // namespace penstock
