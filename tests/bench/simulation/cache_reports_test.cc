#include "bench/simulation/engines/cache_reports.h"

#include <gtest/gtest.h>

#include <vector>

#include "bench/simulation/engines/simulated_engines.h"

namespace penstock::bench {
namespace {

using Kind = simulated::CacheChange::Kind;

simulated::CacheChange Change(Kind kind, uint64_t block, bool host = false) {
  return {kind, block, std::nullopt, "", host};
}

// A prompt of two blocks of the router, each of two engine blocks: 11, 12, 21 and 22.
class CacheReportsTest : public ::testing::Test {
 protected:
  CacheReportsTest() : reports_(Duration::Milliseconds(5), events_) { reports_.Name({1, 2}, {11, 12, 21, 22}); }

  // The reports that reach the router.
  std::vector<CacheReport> Reports() {
    std::vector<CacheReport> all;
    while (!events_.empty()) {
      const Scheduled event = events_.Next();
      if (event.kind == Occurrence::kCacheReport) all.push_back(reports_.Take(event.subject));
    }
    return all;
  }

  EventQueue events_;
  CacheReports reports_;
};

TEST_F(CacheReportsTest, ABlockIsThereWithItsLastEngineBlock) {
  reports_.Send(3, {Change(Kind::kStored, 11), Change(Kind::kStored, 12), Change(Kind::kStored, 21)});
  EXPECT_EQ(Reports(), (std::vector<CacheReport>{{ReplicaId(3), CacheNews::kChanged, {{1, 0}}, {}}}));
  EXPECT_EQ(events_.elapsed(), Duration::Milliseconds(5));
}

TEST_F(CacheReportsTest, ABlockIsGoneWithItsLastEngineBlock) {
  reports_.Send(0, {Change(Kind::kRemoved, 21)});
  reports_.Send(0, {Change(Kind::kRemoved, 22)});
  EXPECT_EQ(Reports(), (std::vector<CacheReport>{{ReplicaId(0), CacheNews::kChanged, {}, {{2, 1}}}}));
}

TEST_F(CacheReportsTest, TheNewestChangeOfAStepCounts) {
  reports_.Send(0, {Change(Kind::kStored, 12), Change(Kind::kRemoved, 12), Change(Kind::kRemoved, 22),
                    Change(Kind::kStored, 22)});
  EXPECT_EQ(Reports(), (std::vector<CacheReport>{{ReplicaId(0), CacheNews::kChanged, {{2, 1}}, {{1, 0}}}}));
}

TEST_F(CacheReportsTest, CopiesInTheHostAreToldApart) {
  reports_.Send(0, {Change(Kind::kStored, 12, true), Change(Kind::kRemoved, 12), Change(Kind::kRemoved, 22, true)});
  EXPECT_EQ(Reports(),
            (std::vector<CacheReport>{{ReplicaId(0), CacheNews::kChanged, {}, {{1, 0}}, {{1, 0}}, {{2, 1}}}}));
}

TEST_F(CacheReportsTest, BlocksWithoutANameAreDropped) {
  reports_.Send(0, {Change(Kind::kStored, 99)});
  reports_.Name({}, {});
  reports_.Name({5}, {});
  EXPECT_TRUE(Reports().empty());
}

}  // namespace
}  // namespace penstock::bench
