#include "router/kv_events/cache_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "router/kv_events/session_tag.h"

namespace penstock {
namespace {
constexpr int64_t kBlock = 16;
const Instant kStart = Instant() + Duration::Seconds(100);
Instant At(double seconds) { return kStart + Duration::Seconds(seconds); }

// The names of the engine's blocks of a prompt: a number for each prompt, and the place.
uint64_t Named(uint64_t prompt, int64_t place) { return prompt * 1000 + static_cast<uint64_t>(place); }

// A follower, and what the core would know by its reports.
class CacheFollowing : public ::testing::Test {
 protected:
  KvEvent Stored(uint64_t prompt, int64_t from, int64_t to, uint64_t request = 0) {
    KvEvent event;
    for (int64_t i = from; i < to; ++i) event.blocks.push_back(Named(prompt, i));
    if (from > 0) event.parent = Named(prompt, from - 1);
    event.block_size = kBlock;
    event.medium = "GPU";
    if (request > 0) event.session = SessionTag("router", RequestId(request));
    return event;
  }
  KvEvent Removed(uint64_t prompt, int64_t from, int64_t to) {
    KvEvent event;
    event.kind = KvEventKind::kRemoved;
    for (int64_t i = to; i-- > from;) event.blocks.push_back(Named(prompt, i));
    return event;
  }
  void Batch(CacheFollower& follower, uint64_t number, std::vector<KvEvent> events, double at = 0) {
    follower.OnBatch(number, KvBatch{0, std::move(events), {}, 0}, At(at));
    Hear(follower);
  }
  // A request of `blocks` prompt blocks of 512 tokens, which ran and is judged.
  void Run(CacheFollower& follower, uint64_t id, std::vector<uint64_t> prefix, double at) {
    EngineRun run;
    run.request = RequestId(id);
    run.prefix = std::move(prefix);
    run.prompt = kPrefixBlock * static_cast<int64_t>(run.prefix.size());
    run.body = Bytes(4 * run.prompt.value());
    run.output = Tokens(1);
    run.dispatched = At(at);
    follower.runs().OnDispatched(run);
    run.closed = At(at + 0.1);
    follower.runs().OnClosed(run);
    follower.Tick(At(at + 1));
    Hear(follower);
  }
  void Hear(CacheFollower& follower) {
    for (const CacheReport& report : follower.TakeReports()) {
      EXPECT_EQ(report.replica, ReplicaId(3));
      if (report.news != CacheNews::kChanged) told_.clear();
      last_ = report.news;
      for (const PromptBlock& block : report.removed) told_.erase(block.block);
      for (const PromptBlock& block : report.stored) told_.insert(block.block);
    }
  }
  static CacheFollower Make(bool can_replay) { return CacheFollower(ReplicaId(3), "router", can_replay); }
  // A prompt of three blocks, stored and bound.
  CacheFollower Bound(bool can_replay = false) {
    CacheFollower follower = Make(can_replay);
    Batch(follower, 0, {Stored(1, 0, 96, 7)});
    Run(follower, 7, {11, 12, 13}, 0);
    return follower;
  }

  std::set<uint64_t> told_;
  CacheNews last_ = CacheNews::kChanged;
};

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(CacheFollowing, ThePromptOfANamedRequestIsConfirmed) {
  const CacheFollower follower = Bound();
  EXPECT_THAT(told_, ElementsAre(11, 12, 13));
  EXPECT_EQ(follower.Counts().named, 1);
  EXPECT_EQ(follower.Counts().confirmed, 3);
  EXPECT_TRUE(follower.Counts().sure);
}

TEST_F(CacheFollowing, ARemovedTailIsRemovedExactly) {
  CacheFollower follower = Bound();
  Batch(follower, 1, {Removed(1, 95, 96)});
  EXPECT_THAT(told_, ElementsAre(11, 12));
  Batch(follower, 2, {Removed(1, 32, 95)});
  EXPECT_THAT(told_, ElementsAre(11));
  EXPECT_EQ(follower.Counts().confirmed, 1);
}

// The engine's names stand for content: no request is needed to know it again.
TEST_F(CacheFollowing, AContentThatComesBackIsKnown) {
  CacheFollower follower = Bound();
  Batch(follower, 1, {Removed(1, 0, 96)});
  EXPECT_THAT(told_, IsEmpty());
  Batch(follower, 2, {Stored(1, 0, 96)});
  EXPECT_THAT(told_, ElementsAre(11, 12, 13));
}

TEST_F(CacheFollowing, AllBlocksClearedLeavesNothing) {
  CacheFollower follower = Bound();
  KvEvent cleared;
  cleared.kind = KvEventKind::kCleared;
  Batch(follower, 1, {cleared});
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_EQ(last_, CacheNews::kCleared);
  EXPECT_TRUE(follower.Counts().sure);
}

TEST_F(CacheFollowing, OtherTiersAndGroupsOfLayersDoNotCount) {
  CacheFollower follower = Bound();
  KvEvent of_disk = Removed(1, 0, 96), of_window = Removed(1, 0, 96);
  of_disk.medium = "STORAGE";
  of_window.group = 1;
  Batch(follower, 1, {of_disk, of_window});
  EXPECT_THAT(told_, ElementsAre(11, 12, 13));
  EXPECT_EQ(follower.Counts().ignored, 2);
}

TEST_F(CacheFollowing, AHoleWithoutReplaysMakesTheIndexAnEstimateAgain) {
  CacheFollower follower = Bound();
  Batch(follower, 5, {});
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_EQ(last_, CacheNews::kUnsure);
  EXPECT_EQ(follower.Counts().missed, 4);
  EXPECT_EQ(follower.Counts().losses, 1);
  // Later blocks are known again.
  Batch(follower, 6, {Stored(1, 0, 32)});
  EXPECT_THAT(told_, ElementsAre(11));
}

TEST_F(CacheFollowing, AHoleIsFilledByAReplay) {
  CacheFollower follower = Bound(true);
  Batch(follower, 3, {Stored(1, 32, 64)});
  EXPECT_EQ(follower.TakeRequest(At(2)), 1u);
  EXPECT_THAT(told_, ElementsAre(11, 12, 13));
  follower.OnReplayed(1, KvBatch{0, {Removed(1, 32, 96)}, {}, 0}, At(2));
  follower.OnReplayed(2, KvBatch{}, At(2));
  follower.OnReplayed(3, KvBatch{0, {Stored(1, 32, 64)}, {}, 0}, At(2));
  follower.OnReplayEnd(At(2));
  Hear(follower);
  EXPECT_THAT(told_, ElementsAre(11, 12));
  EXPECT_EQ(follower.Counts().losses, 0);
  EXPECT_EQ(follower.Counts().replays, 1);
}

TEST_F(CacheFollowing, AReplayThatDoesNotComeIsGivenUp) {
  CacheFollower follower = Bound(true);
  Batch(follower, 3, {Stored(1, 0, 32)}, 2);
  follower.TakeRequest(At(2));
  follower.Tick(At(3));
  EXPECT_EQ(follower.Counts().losses, 0);
  follower.Tick(At(4.1));
  Hear(follower);
  EXPECT_EQ(follower.Counts().losses, 1);
  EXPECT_THAT(told_, ElementsAre(11));
}

TEST_F(CacheFollowing, BatchesThatWaitForAReplayAreBounded) {
  CacheFollower follower = Bound(true);
  for (uint64_t i = 3; i < 5 + CacheFollower::kMostHeld; ++i) Batch(follower, i, {});
  EXPECT_EQ(follower.Counts().losses, 1);
  CacheFollower large = Bound(true);
  for (uint64_t i : {3, 4}) Batch(large, i, {Removed(2, 0, int64_t{CacheFollower::kMostHeldEntries / 2})});
  EXPECT_EQ(large.Counts().losses, 1);
}

TEST_F(CacheFollowing, APublisherThatBeginsAnewAllTheTimeGetsOneRequestInEachPause) {
  CacheFollower follower = Bound(true);
  for (Instant at = At(2); at < At(3); at = at + Duration::Milliseconds(1)) {
    follower.OnBatch((at - kStart).nanoseconds() % 2'000'000 == 0 ? 9 : 1, KvBatch{}, at);
    follower.TakeRequest(at);
    follower.OnReplayEnd(at);
  }
  EXPECT_EQ(follower.Counts().replays, 4);
}

TEST_F(CacheFollowing, ANewPublisherHasAnEmptyCache) {
  CacheFollower follower = Bound();
  Batch(follower, 1, {});
  Batch(follower, 0, {Stored(2, 0, 32)});
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_EQ(last_, CacheNews::kCleared);
  EXPECT_EQ(follower.Counts().restarts, 1);
}

TEST_F(CacheFollowing, WhileTheConnectionIsGoneNothingIsSure) {
  CacheFollower follower = Bound();
  follower.OnDisconnected();
  Hear(follower);
  EXPECT_EQ(last_, CacheNews::kUnsure);
  EXPECT_FALSE(follower.Counts().sure);
  EXPECT_EQ(follower.Counts().confirmed, 0);
  follower.OnConnected();
  Hear(follower);
  EXPECT_THAT(told_, IsEmpty());
  Batch(follower, 1, {Removed(1, 64, 96)});
  EXPECT_THAT(told_, ElementsAre(11, 12));
}

TEST_F(CacheFollowing, AReplayProvesThatNothingWasMissedWhileItWasGone) {
  CacheFollower follower = Bound(true);
  follower.OnDisconnected();
  follower.OnConnected();
  EXPECT_EQ(follower.TakeRequest(At(2)), 0u);
  follower.OnReplayed(0, KvBatch{0, {Stored(1, 0, 96)}, {}, 0}, At(2));
  follower.OnReplayEnd(At(2));
  Hear(follower);
  EXPECT_THAT(told_, ElementsAre(11, 12, 13));
}

TEST_F(CacheFollowing, GarbageIsCountedAndLosesWhatItMayHaveSaid) {
  CacheFollower follower = Bound();
  follower.OnBatch(1, std::nullopt, At(2));
  Hear(follower);
  EXPECT_EQ(follower.Counts().garbage, 1);
  EXPECT_EQ(follower.Counts().losses, 1);
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(CacheFollowing, ChainsThatNobodyAskedForConfirmNothing) {
  CacheFollower follower = Make(false);
  Batch(follower, 0, {Stored(1, 0, 96)});
  follower.Tick(At(100));
  Hear(follower);
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_EQ(follower.Counts().unowned, 1);
}

TEST_F(CacheFollowing, WithoutNamesTheLengthBinds) {
  CacheFollower follower = Make(false);
  EngineRun run;
  run.request = RequestId(7);
  run.dispatched = At(0);
  follower.runs().OnDispatched(run);
  Batch(follower, 0, {Stored(1, 0, 96)}, 0.05);
  Run(follower, 7, {11, 12, 13}, 0);
  EXPECT_THAT(told_, ElementsAre(11, 12, 13));
  EXPECT_EQ(follower.Counts().by_length, 1);
}

// The second prompt shares one prompt block with the first, and the engine's blocks end at other places.
TEST_F(CacheFollowing, AnAnchorMovesToWhatTwoPromptsShare) {
  CacheFollower follower = Bound();
  KvEvent other = Stored(2, 30, 64, 8);
  other.parent = Named(1, 29);
  Batch(follower, 1, {other});
  Run(follower, 8, {11, 22}, 1);
  EXPECT_EQ(follower.Counts().conflicts, 0);
  EXPECT_THAT(told_, ElementsAre(11, 12, 13, 22));
  // The first block now ends at the last engine block that both have.
  Batch(follower, 2, {Removed(1, 30, 96)});
  EXPECT_THAT(told_, ElementsAre(11, 22));
}

TEST_F(CacheFollowing, BindingsThatContradictEachOtherDoNotCount) {
  CacheFollower follower = Bound();
  Batch(follower, 1, {Stored(2, 0, 64, 8)});
  Run(follower, 8, {11, 22}, 1);
  EXPECT_EQ(follower.Counts().conflicts, 1);
  EXPECT_THAT(told_, ElementsAre(12, 13, 22));
}

TEST_F(CacheFollowing, WhatTheCoreForgotIsToldAgain) {
  CacheFollower follower = Bound();
  told_.clear();
  follower.OnForgotten();
  Hear(follower);
  EXPECT_THAT(told_, ElementsAre(11, 12, 13));
}

TEST_F(CacheFollowing, AReportIsSmall) {
  CacheFollower follower = Make(false);
  std::vector<uint64_t> prefix(200);
  for (size_t i = 0; i < prefix.size(); ++i) prefix[i] = 5000 + i;
  Batch(follower, 0, {Stored(1, 0, 200 * 32, 7)});
  EngineRun run;
  run.request = RequestId(7);
  run.prefix = prefix;
  run.prompt = kPrefixBlock * 200;
  run.body = Bytes(4 * run.prompt.value());
  run.output = Tokens(1);
  run.closed = At(0);
  follower.runs().OnClosed(run);
  follower.Tick(At(1));
  const auto reports = follower.TakeReports();
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].stored.size(), CoreNews::kBlocksPerReport);
}

}  // namespace
}  // namespace penstock
