#include "router/core/prompts/prompt_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const RequestId kFirst(7), kSecond(11);

class PromptCacheTest : public ::testing::Test {
 protected:
  PromptCacheTest() { cache_.SetRoom(4); }
  std::vector<RequestId> Join(RequestId request, const PromptCache::Prefix& prefix) {
    std::vector<RequestId> others;
    cache_.Join(request, prefix, others);
    return others;
  }
  std::vector<RequestId> Leave(RequestId request, const PromptCache::Prefix& prefix, int64_t kept = 100) {
    std::vector<RequestId> others;
    cache_.Leave(request, prefix, kept, others);
    return others;
  }

  PromptCache cache_;
};

TEST_F(PromptCacheTest, TheOtherUserIsNamedOnceHoweverManyBlocksItShares) {
  EXPECT_THAT(Join(kFirst, {1, 2, 3}), IsEmpty());
  EXPECT_THAT(Join(kSecond, {1, 2, 3}), ElementsAre(kFirst));
  EXPECT_THAT(Leave(kFirst, {1, 2, 3}), ElementsAre(kSecond));
  EXPECT_THAT(Leave(kSecond, {1, 2, 3}), IsEmpty());
}

TEST_F(PromptCacheTest, ABlockThatStandsTwiceInAPromptNamesNobody) {
  EXPECT_THAT(Join(kFirst, {1, 1}), IsEmpty());
  EXPECT_THAT(Leave(kFirst, {1, 1}), IsEmpty());
  EXPECT_EQ(cache_.live(), LiveBlocks());
}

TEST_F(PromptCacheTest, BlocksOfRunningRequestsComeBeforeThoseThatWereLeft) {
  Join(kFirst, {1, 2, 3, 4});
  Join(kSecond, {1, 2, 8});
  Leave(kFirst, {1, 2, 3, 4});
  EXPECT_EQ(cache_.Find({1, 2, 3, 4, 5}).live, 2);
  EXPECT_EQ(cache_.Find({1, 2, 3, 4, 5}).left, 2);
  EXPECT_EQ(cache_.Find({9}).live + cache_.Find({9}).left, 0);
}

TEST_F(PromptCacheTest, TheTailOfAPromptIsForgottenFirst) {
  Join(kFirst, {1, 2, 3, 4, 5, 6});
  Leave(kFirst, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(cache_.Find({1, 2, 3, 4, 5, 6}).left, 4);
  cache_.SetRoom(2);
  EXPECT_EQ(cache_.Find({1, 2, 3, 4, 5, 6}).left, 2);
}

TEST_F(PromptCacheTest, ARunningRequestKeepsItsBlocksWhateverRoomIsLeft) {
  Join(kFirst, {1, 2, 3});
  cache_.SetRoom(0);
  EXPECT_EQ(cache_.Find({1, 2, 3}).live, 3);
  Leave(kFirst, {1, 2, 3});
  EXPECT_EQ(cache_.Find({1, 2, 3}).left, 0);
}

TEST_F(PromptCacheTest, OnlyTheFirstBlocksOfAPromptThatWasNotComputedAreKept) {
  Join(kFirst, {1, 2, 3});
  Leave(kFirst, {1, 2, 3}, 1);
  EXPECT_EQ(cache_.Find({1, 2, 3}).left, 1);
}

TEST_F(PromptCacheTest, AnEngineThatStartedAnewHasNothingLeft) {
  Join(kFirst, {1, 2});
  Leave(kFirst, {1, 2});
  cache_.Forget();
  EXPECT_EQ(cache_.Find({1, 2}).left, 0);
}

CacheReport Stored(std::vector<PromptBlock> blocks) {
  return {ReplicaId(0), CacheNews::kChanged, std::move(blocks), {}};
}
CacheReport Removed(std::vector<PromptBlock> blocks) {
  return {ReplicaId(0), CacheNews::kChanged, {}, std::move(blocks)};
}
CacheReport News(CacheNews news) { return {ReplicaId(0), news, {}, {}}; }

TEST_F(PromptCacheTest, ABlockThatTheEngineToldOfIsCertainWhateverRoomIsLeft) {
  Join(kFirst, {1, 2, 3});
  Leave(kFirst, {1, 2, 3});
  cache_.Take(Stored({{1, 0}, {2, 1}}));
  EXPECT_EQ(cache_.Find({1, 2, 3}).live, 2);
  EXPECT_EQ(cache_.Find({1, 2, 3}).left, 1);
  cache_.SetRoom(0);
  EXPECT_EQ(cache_.Find({1, 2, 3}).live, 2);
  EXPECT_EQ(cache_.Find({1, 2, 3}).left, 0);
}

TEST_F(PromptCacheTest, ABlockThatTheEngineRemovedIsExpectedNoMore) {
  Join(kFirst, {1, 2, 3});
  Leave(kFirst, {1, 2, 3});
  cache_.Take(Removed({{2, 1}}));
  EXPECT_EQ(cache_.Find({1, 2, 3}).left, 1);
  cache_.Take(Stored({{1, 0}, {2, 1}, {3, 2}}));
  EXPECT_EQ(cache_.Find({1, 2, 3}).live, 3);
  cache_.Take(Removed({{2, 1}}));
  EXPECT_EQ(cache_.Find({1, 2, 3}).live, 1);
}

TEST_F(PromptCacheTest, ARunningRequestHoldsWhatTheEngineRemoved) {
  Join(kFirst, {1, 2});
  cache_.Take(Removed({{1, 0}, {2, 1}}));
  EXPECT_EQ(cache_.Find({1, 2}).live, 2);
  // The engine computed the blocks again.
  Leave(kFirst, {1, 2});
  EXPECT_EQ(cache_.Find({1, 2}).left, 2);
}

TEST_F(PromptCacheTest, BlocksThatWereToldAreExpectedOnceEventsWereLost) {
  cache_.Take(Stored({{1, 0}, {2, 1}, {3, 2}, {4, 3}, {5, 4}}));
  EXPECT_EQ(cache_.told(), 5);
  cache_.Take(News(CacheNews::kUnsure));
  EXPECT_EQ(cache_.told(), 0);
  EXPECT_EQ(cache_.Find({1}).live, 0);
  // Room is left for four; the oldest went.
  EXPECT_EQ(cache_.Find({2, 3, 4, 5}).left, 4);
  EXPECT_EQ(cache_.Find({1}).left, 0);
}

TEST_F(PromptCacheTest, AClearedCacheHasNothingLeft) {
  Join(kFirst, {1, 2});
  Leave(kFirst, {1, 2});
  cache_.Take(Stored({{7, 0}}));
  cache_.Take(News(CacheNews::kCleared));
  EXPECT_EQ(cache_.Find({1, 2}).left, 0);
  EXPECT_EQ(cache_.Find({7}).live, 0);
}

TEST_F(PromptCacheTest, TheHoldersOfToldBlocksAreListed) {
  PrefixHolders holders;
  cache_.ListIn(&holders, 5);
  cache_.Take(Stored({{1, 0}, {2, 1}}));
  EXPECT_THAT(holders.Of(1), ElementsAre(5));
  Join(kFirst, {1, 2});
  Leave(kFirst, {1, 2});
  EXPECT_THAT(holders.Of(1), ElementsAre(5));
  cache_.Take(News(CacheNews::kUnsure));
  EXPECT_THAT(holders.Of(1), ElementsAre(5));
  cache_.Take(Removed({{1, 0}}));
  EXPECT_THAT(holders.Of(1), IsEmpty());
  cache_.Take(Stored({{1, 0}}));
  cache_.Take(News(CacheNews::kCleared));
  EXPECT_THAT(holders.Of(1), IsEmpty());
}

TEST(HitReliability, BeginsAtOneAndFollowsWhatIsFound) {
  HitReliability reliability;
  EXPECT_EQ(reliability.share(), 1);
  for (int i = 0; i < 200; ++i) reliability.Observe(Tokens(10'000), Tokens(5'000));
  EXPECT_NEAR(reliability.share(), 0.5, 0.02);
  for (int i = 0; i < 200; ++i) reliability.Observe(Tokens(10'000), Tokens(30'000));
  EXPECT_NEAR(reliability.share(), 1, 0.001);
}

TEST(HitReliability, AnExpectationOfNothingTeachesNothing) {
  HitReliability reliability;
  reliability.Observe(Tokens(0), Tokens(500));
  reliability.Observe(Tokens(10'000), Tokens(-20));
  EXPECT_LT(reliability.share(), 0.5);
  EXPECT_GT(reliability.share(), 0);
}

TEST_F(PromptCacheTest, WhatTheGpuForgetsIsStillInTheHost) {
  cache_.SetHostRoom(5);
  Join(kFirst, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(cache_.Find({1, 2, 7}).host, 0) << "a running request has it";
  Leave(kFirst, {1, 2, 3, 4, 5, 6});
  cache_.SetRoom(2);
  EXPECT_EQ(cache_.Find({1, 2, 3, 4, 5, 6}).left, 2);
  EXPECT_EQ(cache_.Find({1, 2, 3, 4, 5, 6}).host, 3) << "its tail went first";
  cache_.SetHostRoom(3);
  EXPECT_EQ(cache_.Find({1, 2, 3, 4, 5, 6}).host, 1);
  cache_.Forget();
  EXPECT_EQ(cache_.Find({1, 2, 3, 4, 5, 6}).host, 0);
}

TEST_F(PromptCacheTest, APromptThatWasNeverComputedIsNotInTheHost) {
  cache_.SetHostRoom(5);
  cache_.SetRoom(0);
  Join(kFirst, {1, 2, 3});
  Leave(kFirst, {1, 2, 3}, 1);
  EXPECT_EQ(cache_.Find({1, 2, 3}).host, 1);
}

TEST_F(PromptCacheTest, AReplicaIsListedWhileItsHostHasABlock) {
  PrefixHolders holders;
  cache_.ListIn(&holders, 3);
  cache_.SetHostRoom(2);
  Join(kFirst, {1, 2});
  Leave(kFirst, {1, 2});
  cache_.SetRoom(0);
  EXPECT_THAT(holders.Of(1), ElementsAre(3));
  cache_.SetHostRoom(0);
  EXPECT_THAT(holders.Of(1), IsEmpty());
}

TEST_F(PromptCacheTest, TheEngineTellsOfItsHostToo) {
  PrefixHolders holders;
  cache_.ListIn(&holders, 3);
  CacheReport report{ReplicaId(3), CacheNews::kChanged, {}, {}, {{1, 0}, {2, 1}}, {}};
  cache_.Take(report);
  EXPECT_EQ(cache_.Find({1, 2}).host, 0) << "no room for it is configured";
  EXPECT_THAT(holders.Of(1), IsEmpty());
  cache_.SetHostRoom(5);
  cache_.Take(report);
  EXPECT_EQ(cache_.Find({1, 2}).host, 2);
  EXPECT_THAT(holders.Of(1), ElementsAre(3));
  cache_.Take({ReplicaId(3), CacheNews::kChanged, {}, {}, {}, {{1, 0}}});
  EXPECT_EQ(cache_.Find({1, 2}).host, 0);
  EXPECT_THAT(holders.Of(1), IsEmpty());
}

}  // namespace
}  // namespace penstock
