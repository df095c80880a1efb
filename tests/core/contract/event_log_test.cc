#include "router/core/contract/event_log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/core/core_test_support.h"

namespace penstock {
namespace {

void ExpectRoundTrip(const Event& event) {
  const Instant at = Instant::FromNanoseconds(123'456'789);
  const std::string line = FormatEvent(at, event);
  const auto parsed = ParseEvent(line);
  ASSERT_TRUE(parsed.ok()) << line;
  EXPECT_EQ(parsed->first, at);
  EXPECT_EQ(parsed->second, event) << line;
}

TEST(EventLog, EveryKindOfEventReadsBackAsItWas) {
  RequestArrived arrived;
  arrived.request = RequestId(7);
  arrived.prompt_sigma = 0.1 / 3;
  arrived.tenant = TenantId(~0ULL);
  arrived.observed = false;
  arrived.shape = 19;
  arrived.session = ~0ULL;
  arrived.prefix = {0, ~0ULL, 17};
  ExpectRoundTrip(arrived);
  ExpectRoundTrip(FirstToken{RequestId(1)});
  ExpectRoundTrip(RequestClosed{RequestId(1), Outcome::kRejected, Tokens(5), Tokens(6), true, Tokens(4)});
  ExpectRoundTrip(RequestRequeued{RequestId(1), Tokens(3), false, true});
  ExpectRoundTrip(PrefillEnded{RequestId(1), false, Tokens(7)});
  ExpectRoundTrip(Progress{{{ReplicaId(1), 4, Instant::FromSeconds(2)}}, {{RequestId(3), Tokens(9)}}});
  ExpectRoundTrip(EngineReport{ReplicaId(2), Instant::FromSeconds(1), 0.25, 3, 4, 5});
  ExpectRoundTrip(ReplicaHealth{ReplicaId(2), Health::kDraining});
  ExpectRoundTrip(ReplicaResidency{ReplicaId(2), Residency::kWaking, true, Duration::Seconds(3), SleepLevel::kDisk});
  Fleet fleet = testing::MakeFleet({});
  fleet.models.push_back({"name with spaces, 100 %\n"});
  fleet.tenants = {{TenantId(~0ULL), "acme, inc", 0.1, {Tokens(6000), 3}}, {TenantId(5), "", 2, {}}};
  fleet.gpus = {{"node 1/gpu0", Bytes(80LL << 30)}};
  fleet.replicas.front().sleep =
      SleepSpec{Duration::Seconds(30), Duration::Seconds(2), Bytes(8), true, Duration::Seconds(20)};
  fleet.hosts = {{"node1", Bytes(16)}};
  fleet.replicas.front().resident = Bytes(20LL << 30);
  fleet.replicas.front().price = 0.1 / 3;
  fleet.replicas.front().role = EngineRole::kPrefill;
  fleet.replicas.front().transfer = 1e-6 / 3;
  ExpectRoundTrip(FleetChanged{fleet});
  ExpectRoundTrip(ShutdownStarted{});
  ExpectRoundTrip(TimerFired{});
  ExpectRoundTrip(AnswerFixed{RequestId(1)});
}

// One event of each kind, with every field set to something.
std::vector<Event> EveryKind() {
  RequestArrived arrived;
  arrived.request = RequestId(7);
  arrived.prompt = Tokens(300);
  arrived.prefix = {1, 2, 3};
  Fleet fleet = testing::MakeFleet({});
  fleet.tenants = {{TenantId(5), "acme, inc", 0.1, {Tokens(6000), 3}}};
  return {arrived,
          FirstToken{RequestId(1)},
          RequestClosed{RequestId(1), Outcome::kRejected, Tokens(5), Tokens(6), true, Tokens(4)},
          RequestRequeued{RequestId(1), Tokens(3), false},
          Progress{{{ReplicaId(1), 4, Instant::FromSeconds(2)}}, {{RequestId(3), Tokens(9)}}},
          EngineReport{ReplicaId(2), Instant::FromSeconds(1), 0.25, 3, 4, 5},
          ReplicaHealth{ReplicaId(2), Health::kDraining},
          ReplicaResidency{ReplicaId(2), Residency::kAsleep, false, Duration::Seconds(1)},
          FleetChanged{fleet},
          ShutdownStarted{},
          TimerFired{},
          AnswerFixed{RequestId(4)},
          PrefillEnded{RequestId(4), true, Tokens(1)}};
}

TEST(EventLog, ALineThatIsCutOrHasAWordTooManyIsAnError) {
  for (const Event& event : EveryKind()) {
    const std::string line = FormatEvent(Instant::FromSeconds(1), event);
    ASSERT_TRUE(ParseEvent(line).ok()) << line;
    EXPECT_FALSE(ParseEvent(line + " 1").ok()) << line;
    for (size_t space = line.rfind(' '); space != std::string::npos && space > 0; space = line.rfind(' ', space - 1)) {
      EXPECT_FALSE(ParseEvent(line.substr(0, space)).ok()) << line.substr(0, space);
    }
  }
}

TEST(EventLog, AWordThatIsNoNumberIsAnError) {
  for (const Event& event : EveryKind()) {
    const std::string line = FormatEvent(Instant::FromSeconds(1), event);
    // The first field follows the time and the kind.
    const size_t field = line.find(' ', line.find(' ') + 1);
    if (field == std::string::npos) continue;
    const size_t end = line.find(' ', field + 1);
    const std::string rest = end == std::string::npos ? "" : line.substr(end);
    for (const char* word : {"x", "-", "1e", "0x1", "99999999999999999999999"}) {
      EXPECT_FALSE(ParseEvent(line.substr(0, field + 1) + word + rest).ok()) << line << " with " << word;
    }
  }
}

TEST(EventLog, AnActionHasItsFieldsInTheOrderOfTheirDeclaration) {
  const Instant at = Instant::FromNanoseconds(9);
  EXPECT_EQ(FormatAction(at, Forward{RequestId(1), ReplicaId(2), LeaseId(3), Duration::Nanoseconds(4),
                                     Duration::Nanoseconds(5), 0.5}),
            "9 forward 1 2 3 4 5 0.5");
  EXPECT_EQ(FormatAction(
                at, Forward{RequestId(1), ReplicaId(2), LeaseId(3), Duration::Nanoseconds(4), Duration::Nanoseconds(5),
                            0.5, PrefillOrder{ReplicaId(6), LeaseId(7), Duration::Nanoseconds(8)}}),
            "9 forward 1 2 3 4 5 0.5 6 7 8");
  EXPECT_EQ(FormatAction(at, Park{RequestId(1), WaitReason::kMemory, 7}), "9 park 1 5 7");
  EXPECT_EQ(FormatAction(at, Refuse{RequestId(1), Refusal::kQueueFull, Duration::Nanoseconds(2), 3, 4}),
            "9 refuse 1 4 2 3 4 0");
  EXPECT_EQ(FormatAction(at, Abort{RequestId(1), LeaseId(2), AbortReason::kEviction}), "9 abort 1 2 2");
  EXPECT_EQ(FormatAction(at, Sleep{ReplicaId(3)}), "9 sleep 3");
  EXPECT_EQ(FormatAction(at, Sleep{ReplicaId(3), SleepLevel::kDisk}), "9 sleep 3 2");
  EXPECT_EQ(FormatAction(at, Wake{ReplicaId(4)}), "9 wake 4");
}

TEST(EventLog, WhatIsNotAnEventIsAnError) {
  for (const char* line : {"", "5", "x timer", "5 unknown", "5 first-token", "5 first-token 1 2",
                           "5 progress 99999999 1", "5 fleet-changed 1 name 2"}) {
    EXPECT_FALSE(ParseEvent(line).ok()) << line;
  }
}

}  // namespace
}  // namespace penstock
