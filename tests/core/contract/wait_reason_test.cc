#include "router/core/contract/wait_reason.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "router/core/contract/action.h"

namespace penstock {
namespace {

TEST(WaitReasons, TheTableStandsInTheOrderOfTheEnum) {
  for (size_t i = 0; i < kWaitReasons.size(); ++i) EXPECT_EQ(static_cast<size_t>(kWaitReasons[i].reason), i);
}

TEST(WaitReasons, EveryReasonHasItsOwnLabelAndSentence) {
  std::set<std::string> labels;
  std::set<std::string> texts;
  for (const WaitReasonTraits& traits : kWaitReasons) {
    labels.insert(std::string(traits.label));
    texts.insert(std::string(traits.text));
    EXPECT_EQ(traits.text.back(), '.');
  }
  EXPECT_EQ(labels.size(), kWaitReasons.size());
  EXPECT_EQ(texts.size(), kWaitReasons.size());
}

TEST(WaitReasons, OfTwoReplicasTheOneThatCameNearerToTakingTheRequestIsTheReason) {
  EXPECT_EQ(HigherRanked(WaitReason::kSequences, WaitReason::kMemory), WaitReason::kMemory);
  EXPECT_EQ(HigherRanked(WaitReason::kMemory, WaitReason::kSequences), WaitReason::kMemory);
  EXPECT_EQ(HigherRanked(WaitReason::kNoReplicaUp, WaitReason::kRunway), WaitReason::kRunway);
  EXPECT_EQ(HigherRanked(WaitReason::kFirstToken, WaitReason::kRunningStreams), WaitReason::kRunningStreams);
}

TEST(WaitReasons, AReasonWithoutATestNeverHidesOneWithATest) {
  for (const WaitReasonTraits& traits : kWaitReasons) {
    EXPECT_EQ(HigherRanked(WaitReason::kBehindOthers, traits.reason),
              traits.rank > 0 ? traits.reason : WaitReason::kBehindOthers);
  }
}

TEST(Actions, EveryRequestActionNamesItsRequest) {
  const RequestId id(7);
  EXPECT_EQ(RequestOf(Forward{id, ReplicaId(0), LeaseId(0), {}, {}, 0}), id);
  EXPECT_EQ(RequestOf(Park{id, WaitReason::kMemory, 0}), id);
  EXPECT_EQ(RequestOf(Refuse{id, Refusal::kNoReplica, {}, 0, 0}), id);
  EXPECT_EQ(RequestOf(Abort{id, LeaseId(0)}), id);
}

TEST(Actions, OnlyTheActionsOfRequestsAreForTheLoopsOfRequests) {
  const Action forward = Forward{RequestId(7), ReplicaId(0), LeaseId(0), {}, {}, 0};
  EXPECT_EQ(RequestOf(RequestActionOf(forward).value()), RequestId(7));
  EXPECT_FALSE(RequestActionOf(Sleep{ReplicaId(0)}).has_value());
  EXPECT_FALSE(RequestActionOf(Wake{ReplicaId(0)}).has_value());
}

}  // namespace
}  // namespace penstock
