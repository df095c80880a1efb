#include "bench/simulation/engines/node_storages.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace penstock::bench {
namespace {

// Two replicas on a node of which others take a part, and one without storage.
SimulatedFleetSpec SpecWith(double pressure) {
  SimulatedFleetSpec spec;
  spec.replicas.resize(3);
  spec.storages.push_back({{0, 1}, pressure, Duration::Seconds(0), Duration::Infinite()});
  return spec;
}

class NodeStoragesTest : public ::testing::Test {
 protected:
  explicit NodeStoragesTest(double pressure = 0) : spec_(SpecWith(pressure)), storages_(spec_, events_) {}

  // Takes what happens within so many seconds. The time at which each request may go on, in seconds.
  std::map<uint64_t, double> Run(double seconds) {
    std::map<uint64_t, double> read;
    while (!events_.empty() && events_.next_at() <= Instant() + Duration::Seconds(seconds)) {
      const Scheduled event = events_.Next();
      if (event.kind == Occurrence::kReadEnds) storages_.EndReads(event.subject, event.detail);
      if (event.kind == Occurrence::kSubmit) read[event.subject] = events_.elapsed().seconds();
      if (event.kind == Occurrence::kNodePage) pages_.push_back(storages_.Page(event.subject, std::nullopt));
    }
    return read;
  }

  SimulatedFleetSpec spec_;
  EventQueue events_;
  NodeStorages storages_;
  std::vector<std::vector<NodeReport>> pages_;
};

class BusyNodeStoragesTest : public NodeStoragesTest {
 protected:
  BusyNodeStoragesTest() : NodeStoragesTest(0.5) {}
};

TEST_F(NodeStoragesTest, ALoneReadTakesItsTimeOnce) {
  EXPECT_TRUE(storages_.Delays(0, StorageNeed::kHeavy, 7, 1));
  EXPECT_NEAR(Run(10).at(7), 1, 1e-6);
  EXPECT_FALSE(storages_.Delays(0, StorageNeed::kHeavy, 7, 1)) << "it has read";
  EXPECT_TRUE(storages_.Delays(1, StorageNeed::kHeavy, 7, 2)) << "another try";
}

TEST_F(NodeStoragesTest, ReadsOfANodeShareItsStorage) {
  storages_.Delays(0, StorageNeed::kHeavy, 1, 1);
  storages_.Delays(1, StorageNeed::kSome, 2, 1);
  const std::map<uint64_t, double> read = Run(10);
  EXPECT_NEAR(read.at(2), 0.8, 1e-6) << "0.4 s at half the rate";
  EXPECT_NEAR(read.at(1), 1.4, 1e-6);
}

TEST_F(NodeStoragesTest, NothingIsReadWithoutANeedOrWithoutStorage) {
  EXPECT_FALSE(storages_.Delays(0, StorageNeed::kUnsaid, 1, 1));
  EXPECT_FALSE(storages_.Delays(0, StorageNeed::kNone, 2, 1));
  EXPECT_FALSE(storages_.Delays(2, StorageNeed::kHeavy, 3, 1));
}

TEST_F(BusyNodeStoragesTest, OthersSlowReadsAndThePageTellsBoth) {
  storages_.Start();
  storages_.Delays(0, StorageNeed::kHeavy, 1, 1);
  EXPECT_NEAR(Run(10).at(1), 2, 1e-6);
  ASSERT_EQ(pages_.size(), 1u);
  ASSERT_EQ(pages_[0].size(), 2u) << "one report per replica";
  EXPECT_NEAR(pages_[0][0].storage_pressure, 0.5 + 0.5 * 2 / 5, 1e-6) << "own reads for 2 s of 5";
}

}  // namespace
}  // namespace penstock::bench
