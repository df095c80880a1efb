#include "router/kv_events/sequence_watch.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

using Step = SequenceWatch::Step;

TEST(SequenceWatches, BatchesFollowEachOther) {
  SequenceWatch watch(false);
  EXPECT_FALSE(watch.proven());
  EXPECT_EQ(watch.Live(5), Step::kTake);
  EXPECT_EQ(watch.Live(6), Step::kTake);
  EXPECT_TRUE(watch.proven());
  EXPECT_EQ(watch.missed(), 0);
}

TEST(SequenceWatches, MissingBatchesAreLostWithoutReplays) {
  SequenceWatch watch(false);
  watch.Live(0);
  EXPECT_EQ(watch.Live(4), Step::kLost);
  EXPECT_EQ(watch.missed(), 3);
  EXPECT_EQ(watch.Live(5), Step::kTake);
}

TEST(SequenceWatches, MissingBatchesAreAskedForAndTheStreamWaits) {
  SequenceWatch watch(true);
  watch.Live(0);
  EXPECT_EQ(watch.Live(3), Step::kHold);
  EXPECT_EQ(watch.TakeRequest(), 1u);
  EXPECT_EQ(watch.TakeRequest(), std::nullopt);
  EXPECT_EQ(watch.Live(4), Step::kHold);
  EXPECT_EQ(watch.Replayed(1), Step::kTake);
  EXPECT_EQ(watch.Replayed(2), Step::kTake);
  EXPECT_EQ(watch.Replayed(3), Step::kTake);
  EXPECT_EQ(watch.EndReplay(false), Step::kTake);
  EXPECT_EQ(watch.Held(3), Step::kSkip);
  EXPECT_EQ(watch.Held(4), Step::kTake);
}

TEST(SequenceWatches, WhatAReplayLacksIsLost) {
  SequenceWatch watch(true);
  watch.Live(0);
  watch.Live(9);
  EXPECT_EQ(watch.Replayed(7), Step::kLost);
  EXPECT_EQ(watch.Replayed(8), Step::kTake);
  EXPECT_EQ(watch.EndReplay(false), Step::kTake);
  EXPECT_EQ(watch.Live(9), Step::kTake);
}

TEST(SequenceWatches, AReplayThatFailsIsNotAskedForAgain) {
  SequenceWatch watch(true);
  watch.Live(0);
  watch.Live(2);
  watch.TakeRequest();
  EXPECT_EQ(watch.EndReplay(true), Step::kTake);
  EXPECT_EQ(watch.Live(2), Step::kLost);
  EXPECT_EQ(watch.TakeRequest(), std::nullopt);
  // The next hole is asked for.
  EXPECT_EQ(watch.Live(5), Step::kHold);
  EXPECT_EQ(watch.TakeRequest(), 3u);
}

TEST(SequenceWatches, ANumberThatFallsIsOfANewPublisher) {
  SequenceWatch watch(false);
  watch.Live(10);
  EXPECT_EQ(watch.Live(3), Step::kRestarted);
  EXPECT_EQ(watch.Live(3), Step::kTake);
}

TEST(SequenceWatches, ANewPublishersFirstBatchesAreAskedFor) {
  SequenceWatch watch(true);
  watch.Live(10);
  EXPECT_EQ(watch.Live(3), Step::kRestarted);
  EXPECT_EQ(watch.TakeRequest(), 0u);
  EXPECT_EQ(watch.Live(3), Step::kHold);
}

TEST(SequenceWatches, ALateSubscriberAsksForTheBegin) {
  SequenceWatch watch(true);
  watch.Connected();
  EXPECT_EQ(watch.TakeRequest(), 0u);
  EXPECT_EQ(watch.Replayed(40), Step::kTake);
  EXPECT_EQ(watch.EndReplay(false), Step::kTake);
  EXPECT_EQ(watch.missed(), 0);
}

TEST(SequenceWatches, APublisherThatSentNothingIsFollowedFromItsBegin) {
  SequenceWatch watch(true);
  watch.Connected();
  EXPECT_FALSE(watch.proven());
  EXPECT_EQ(watch.EndReplay(false), Step::kTake);
  EXPECT_TRUE(watch.proven());
  EXPECT_EQ(watch.Live(1), Step::kHold);
  SequenceWatch without(false);
  without.Connected();
  EXPECT_TRUE(without.proven());
  EXPECT_EQ(without.Live(4), Step::kTake);
}

TEST(SequenceWatches, AfterAReconnectionTheLastBatchProvesThePublisher) {
  SequenceWatch watch(true);
  watch.Live(7);
  watch.Disconnected();
  EXPECT_FALSE(watch.proven());
  watch.Connected();
  EXPECT_EQ(watch.TakeRequest(), 7u);
  EXPECT_EQ(watch.Replayed(7), Step::kSkip);
  EXPECT_EQ(watch.EndReplay(false), Step::kTake);
  EXPECT_TRUE(watch.proven());
}

TEST(SequenceWatches, AfterAReconnectionANewPublisherIsFoundWhileItIsIdle) {
  SequenceWatch watch(true);
  watch.Live(7);
  watch.Disconnected();
  watch.Connected();
  EXPECT_EQ(watch.EndReplay(false), Step::kRestarted);
  EXPECT_EQ(watch.TakeRequest(), 0u);
  EXPECT_FALSE(watch.proven());
}

TEST(SequenceWatches, AfterAReconnectionNothingIsProvenWithoutABatch) {
  SequenceWatch watch(false);
  watch.Live(7);
  watch.Disconnected();
  watch.Connected();
  EXPECT_FALSE(watch.proven());
  EXPECT_EQ(watch.Live(8), Step::kTake);
  EXPECT_TRUE(watch.proven());
}

}  // namespace
}  // namespace penstock
