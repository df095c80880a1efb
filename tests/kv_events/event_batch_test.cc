#include "backends/kv_events/event_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <nlohmann/json.hpp>

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

std::string Packed(const Json& value) {
  std::string bytes;
  Json::to_msgpack(value, bytes);
  return bytes;
}

KvEvent Stored(std::vector<uint64_t> blocks, std::optional<uint64_t> parent) {
  KvEvent event;
  event.blocks = std::move(blocks);
  event.parent = parent;
  event.block_size = 16;
  event.medium = "GPU";
  return event;
}

std::string FaultOf(std::string bytes) {
  const auto batch = DecodeKvBatch(bytes);
  return batch.ok() ? "" : std::string(batch.status().message());
}

TEST(EventBatches, WhatIsWrittenIsRead) {
  KvBatch batch;
  batch.rank = 3;
  batch.events = {Stored({1, 18446744073709551615u}, 7), {KvEventKind::kRemoved, {4}}, {KvEventKind::kCleared}};
  batch.events[0].session = "router.5";
  batch.events[1].group = 2;
  const auto read = DecodeKvBatch(EncodeKvBatch(batch));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, batch);
}

// The fields of vLLM 0.32, in its order.
TEST(EventBatches, TheFieldsOfVllmAreReadAndOthersPassedOver) {
  const Json event = {{"type", "BlockStored"},  {"block_hashes", {11, 12}}, {"parent_block_hash", nullptr},
                      {"token_ids", {5, 6, 7}}, {"block_size", 2},          {"lora_id", nullptr},
                      {"medium", "GPU"},        {"lora_name", nullptr},     {"extra_keys", {nullptr, {"salt", 3}}},
                      {"group_idx", 1},         {"session_id", "a"},        {"kv_cache_spec_kind", "full_attention"}};
  const auto batch = DecodeKvBatch(Packed(Json::array({1.5, Json::array({event}), 0})));
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->time, 1.5);
  EXPECT_EQ(batch->rank, 0);
  ASSERT_EQ(batch->events.size(), 1u);
  EXPECT_THAT(batch->events[0].blocks, ElementsAre(11, 12));
  EXPECT_EQ(batch->events[0].parent, std::nullopt);
  EXPECT_EQ(batch->events[0].block_size, 2);
  EXPECT_EQ(batch->events[0].session, "a");
  EXPECT_EQ(batch->events[0].group, 1);
}

TEST(EventBatches, EventsOfOlderEnginesAreArrays) {
  const Json stored = {"BlockStored", {1, 2}, 9, {5, 6}, 1, nullptr, "CPU", "lora"};
  const Json removed = {"BlockRemoved", {3}, "GPU"};
  const auto batch = DecodeKvBatch(Packed(Json::array({1.5, {stored, removed, Json::array({"AllBlocksCleared"})}})));
  ASSERT_TRUE(batch.ok()) << batch.status();
  ASSERT_EQ(batch->events.size(), 3u);
  EXPECT_THAT(batch->events[0].blocks, ElementsAre(1, 2));
  EXPECT_EQ(batch->events[0].parent, 9u);
  EXPECT_EQ(batch->events[0].medium, "CPU");
  EXPECT_EQ(batch->events[1].kind, KvEventKind::kRemoved);
  EXPECT_EQ(batch->events[2].kind, KvEventKind::kCleared);
}

TEST(EventBatches, HashesOfBytesBecomeNumbers) {
  const std::string hash = "0123456789abcdef0123456789abcdef";
  const Json bytes = Json::binary({hash.begin(), hash.end()});
  const Json event = {
      {"type", "BlockStored"}, {"block_hashes", {bytes}}, {"parent_block_hash", bytes}, {"block_size", 16}};
  const auto batch = DecodeKvBatch(Packed(Json::array({0.0, Json::array({event})})));
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_THAT(batch->events[0].blocks, ElementsAre(XXH3_64bits(hash.data(), hash.size())));
  EXPECT_EQ(batch->events[0].parent, batch->events[0].blocks[0]);
}

TEST(EventBatches, EventsOfUnknownTypesAreCounted) {
  const Json events = {{{"type", "Rain"}, {"block_hashes", 3}}, {{"type", "AllBlocksCleared"}}, Json::object()};
  const auto batch = DecodeKvBatch(Packed(Json::array({0.0, events})));
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->unknown, 2);
  EXPECT_EQ(batch->events.size(), 1u);
}

TEST(EventBatches, WhatIsNoBatchIsAnError) {
  EXPECT_THAT(FaultOf(""), HasSubstr("no msgpack"));
  EXPECT_THAT(FaultOf("\xc1"), HasSubstr("no msgpack"));
  EXPECT_THAT(FaultOf(Packed(3)), HasSubstr("no batch"));
  EXPECT_THAT(FaultOf(Packed({{"events", 1}})), HasSubstr("no batch"));
  EXPECT_THAT(FaultOf(Packed({0.0, {1, 2}})), HasSubstr("neither"));
  EXPECT_THAT(FaultOf(Packed({0.0, Json::array({{{"type", "BlockStored"}}})})), HasSubstr("block_hashes"));
  EXPECT_THAT(
      FaultOf(Packed({0.0, Json::array({{{"type", "BlockStored"}, {"block_hashes", {1}}, {"block_size", 0}}})})),
      HasSubstr("block_size"));
  EXPECT_THAT(FaultOf(std::string(kMostBatchBytes + 1, '\x91')), HasSubstr("large"));
}

TEST(EventBatches, OnlyBlocksBesideTheGpuMayHaveNoSize) {
  const auto stored = [](const Json& medium, int64_t size) {
    return Packed({0.0, Json::array({{{"type", "BlockStored"},
                                      {"block_hashes", {1}},
                                      {"medium", medium},
                                      {"token_ids", Json::array()},
                                      {"block_size", size}}})});
  };
  const auto batch = DecodeKvBatch(stored("CPU", 0));
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->events[0].medium, "CPU");
  EXPECT_THAT(FaultOf(stored("GPU", 0)), HasSubstr("block_size"));
  EXPECT_THAT(FaultOf(stored(nullptr, 0)), HasSubstr("block_size"));
  EXPECT_THAT(FaultOf(stored("CPU", -1)), HasSubstr("block_size"));
}

TEST(EventBatches, NestingWithoutAnEndIsAnError) {
  EXPECT_THAT(FaultOf(std::string(kMostBatchBytes, '\x91')), HasSubstr("deep"));
}

TEST(EventBatches, AListThatClaimsBillionsOfMembersIsAnError) {
  EXPECT_THAT(FaultOf(std::string("\x92\x00\xdd\xff\xff\xff\xff", 7)), HasSubstr("no msgpack"));
}

TEST(EventBatches, EveryCutOfABatchIsAnError) {
  KvBatch batch;
  batch.events = {Stored({1, 2, 3}, 4)};
  const std::string whole = EncodeKvBatch(batch);
  for (size_t i = 0; i < whole.size(); ++i)
    EXPECT_FALSE(DecodeKvBatch(absl::string_view(whole).substr(0, i)).ok()) << i;
}

}  // namespace
}  // namespace penstock
