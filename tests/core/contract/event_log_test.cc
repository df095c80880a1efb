#include "router/core/contract/event_log.h"

#include <gtest/gtest.h>

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
  arrived.prefix = {0, ~0ULL, 17};
  ExpectRoundTrip(arrived);
  ExpectRoundTrip(FirstToken{RequestId(1)});
  ExpectRoundTrip(RequestClosed{RequestId(1), Outcome::kRejected, Tokens(5), Tokens(6), true});
  ExpectRoundTrip(RequestRequeued{RequestId(1), Tokens(3), false});
  ExpectRoundTrip(Progress{{{ReplicaId(1), 4, Instant::FromSeconds(2)}}, {{RequestId(3), Tokens(9)}}});
  ExpectRoundTrip(EngineReport{ReplicaId(2), Instant::FromSeconds(1), 0.25, 3, 4, 5});
  ExpectRoundTrip(ReplicaHealth{ReplicaId(2), Health::kDraining});
  Fleet fleet = testing::MakeFleet({});
  fleet.models.push_back({"name with spaces, 100 %\n"});
  fleet.tenants = {{TenantId(~0ULL), "acme, inc", 0.1, {Tokens(6000), 3}}, {TenantId(5), "", 2, {}}};
  ExpectRoundTrip(FleetChanged{fleet});
  ExpectRoundTrip(ShutdownStarted{});
  ExpectRoundTrip(TimerFired{});
}

TEST(EventLog, WhatIsNotAnEventIsAnError) {
  for (const char* line : {"", "5", "x timer", "5 unknown", "5 first-token", "5 first-token 1 2",
                           "5 progress 99999999 1", "5 fleet-changed 1 name 2"}) {
    EXPECT_FALSE(ParseEvent(line).ok()) << line;
  }
}

}  // namespace
}  // namespace penstock
