#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "bench/traces/workload.h"

namespace penstock::bench {
namespace {

Trace Made(const std::string& name) {
  const auto trace = GenerateWorkload(name, Duration::Seconds(600), 5);
  EXPECT_TRUE(trace.ok()) << trace.status();
  return *trace;
}

TEST(WorkloadClients, ClassesComeAtTheirRates) {
  std::map<std::string, int> two, three;
  for (const TraceRequest& request : Made("two-classes").requests) ++two[request.service_class];
  for (const TraceRequest& request : Made("three-classes").requests) ++three[request.service_class];
  EXPECT_NEAR(two["interactive"], 2400, 250);
  EXPECT_NEAR(two["standard"], 1800, 250);
  EXPECT_EQ(two.size(), 2u);
  EXPECT_NEAR(three["background"], 900, 200);
  EXPECT_EQ(three.size(), 3u);
}

TEST(WorkloadClients, HalfOfTheTenantsStateALimitAndSomeLimitsCut) {
  int stated = 0, cut = 0;
  const Trace trace = Made("limits");
  for (const TraceRequest& request : trace.requests) {
    stated += request.max_output > Tokens(0);
    cut += request.max_output > Tokens(0) && request.max_output < request.output;
  }
  EXPECT_NEAR(static_cast<double>(stated) / static_cast<double>(trace.requests.size()), 0.5, 0.05);
  EXPECT_GT(cut, stated / 20);
  EXPECT_LT(cut, stated / 2);
}

TEST(WorkloadClients, ATenthOfTheImpatientGoesAway) {
  int gone = 0;
  const Trace trace = Made("impatient");
  for (const TraceRequest& request : trace.requests) gone += request.gone_after.has_value();
  EXPECT_NEAR(static_cast<double>(gone) / static_cast<double>(trace.requests.size()), 0.1, 0.02);
}

TEST(WorkloadClients, QuestionsOverPassagesShareTwoBlocks) {
  std::map<uint64_t, int> users;
  const Trace trace = Made("rag");
  ASSERT_GT(trace.requests.size(), 1000u);
  for (const TraceRequest& request : trace.requests) {
    for (const uint64_t block : request.prefix_hashes) ++users[block];
  }
  EXPECT_EQ(users[1], static_cast<int>(trace.requests.size()));
  EXPECT_EQ(users[2], static_cast<int>(trace.requests.size()));
  for (const auto& [block, count] : users) EXPECT_TRUE(block <= 2 || count == 1) << block;
}

}  // namespace
}  // namespace penstock::bench
