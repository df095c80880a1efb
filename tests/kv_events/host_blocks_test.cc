#include "router/kv_events/host_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "router/kv_events/cache_follower.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Instant kHostStart = Instant() + Duration::Seconds(100);

// Blocks 1000 to 1095 of an engine are the prompt blocks 11, 12 and 13.
KvEvent EventOf(KvEventKind kind, int64_t from, int64_t to, const std::string& medium) {
  KvEvent event;
  event.kind = kind;
  for (int64_t i = from; i < to; ++i) event.blocks.push_back(1000 + static_cast<uint64_t>(i));
  event.medium = medium;
  if (kind != KvEventKind::kStored || medium != "GPU") return event;
  if (from > 0) event.parent = 999 + static_cast<uint64_t>(from);
  event.block_size = 16;
  return event;
}

class HostEvents : public ::testing::Test {
 protected:
  void Batch(uint64_t number, std::vector<KvEvent> events) {
    follower_.OnBatch(number, KvBatch{0, std::move(events), {}, 0}, kHostStart);
    Hear();
  }
  // The request that stored the prompt ends.
  void Bind() {
    EngineRun run;
    run.request = RequestId(7);
    run.prefix = {11, 12, 13};
    run.prompt = kPrefixBlock * 3;
    run.body = Bytes(4 * run.prompt.value());
    run.output = Tokens(1);
    run.dispatched = kHostStart;
    follower_.runs().OnDispatched(run);
    run.closed = kHostStart + Duration::Milliseconds(100);
    follower_.runs().OnClosed(run);
    follower_.Tick(kHostStart + Duration::Seconds(40));
    Hear();
  }
  void Hear() {
    for (const CacheReport& report : follower_.TakeReports()) {
      if (report.news != CacheNews::kChanged) gpu_.clear(), host_.clear();
      for (const PromptBlock& block : report.removed) gpu_.erase(block.block);
      for (const PromptBlock& block : report.stored) gpu_.insert(block.block);
      for (const PromptBlock& block : report.host_removed) host_.erase(block.block);
      for (const PromptBlock& block : report.host_stored) host_.insert(block.block);
    }
  }

  CacheFollower follower_{ReplicaId(3), "router", false};
  std::set<uint64_t> gpu_, host_;
};

TEST_F(HostEvents, CopiesAreKnownOnceTheirPromptIs) {
  Batch(0, {EventOf(KvEventKind::kStored, 0, 96, "GPU"), EventOf(KvEventKind::kStored, 0, 96, "CPU")});
  EXPECT_THAT(host_, IsEmpty()) << "nobody knows whose they are";
  Bind();
  EXPECT_THAT(host_, ElementsAre(11, 12, 13));
  EXPECT_EQ(follower_.Counts().ignored, 0);
}

TEST_F(HostEvents, TheTiersComeAndGoApart) {
  Batch(0, {EventOf(KvEventKind::kStored, 0, 96, "GPU")});
  Bind();
  Batch(1, {EventOf(KvEventKind::kStored, 0, 96, "CPU"), EventOf(KvEventKind::kRemoved, 0, 96, "GPU")});
  EXPECT_THAT(gpu_, IsEmpty());
  EXPECT_THAT(host_, ElementsAre(11, 12, 13));
  Batch(2, {EventOf(KvEventKind::kRemoved, 32, 96, "CPU")});
  EXPECT_THAT(host_, ElementsAre(11));
  Batch(3, {EventOf(KvEventKind::kStored, 32, 64, "CPU"), EventOf(KvEventKind::kStored, 0, 32, "GPU")});
  EXPECT_THAT(host_, ElementsAre(11, 12)) << "names stand for content";
  EXPECT_THAT(gpu_, ElementsAre(11));
}

TEST_F(HostEvents, AfterALossNothingOfTheHostIsSure) {
  Batch(0, {EventOf(KvEventKind::kStored, 0, 96, "GPU"), EventOf(KvEventKind::kStored, 0, 96, "CPU")});
  Bind();
  Batch(5, {});
  EXPECT_THAT(host_, IsEmpty());
  follower_.OnForgotten();
  Hear();
  EXPECT_THAT(host_, IsEmpty());
}

TEST(HostBlocksTest, AFloodIsBounded) {
  HostBlocks blocks;
  KvEvent flood;
  for (uint64_t i = 0; i < HostBlocks::kMostBlocks + 10; ++i) flood.blocks.push_back(i);
  blocks.Take(flood, Anchors(), nullptr);
  EXPECT_EQ(blocks.size(), static_cast<int64_t>(HostBlocks::kMostBlocks));
}

}  // namespace
}  // namespace penstock
