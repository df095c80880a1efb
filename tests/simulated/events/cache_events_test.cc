#include "backends/simulated/fleet/cache_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::simulated {
namespace {

using ::testing::ElementsAre;

CacheChange StoredBlock(uint64_t block, std::optional<uint64_t> parent, const char* session) {
  return {CacheChange::Kind::kStored, block, parent, session};
}

TEST(CacheEventBatches, BlocksThatFollowEachOtherAreOneEvent) {
  const CacheJournal journal = {StoredBlock(1, std::nullopt, "a"),
                                StoredBlock(2, 1, "a"),
                                StoredBlock(3, 2, "b"),
                                {CacheChange::Kind::kRemoved, 9, std::nullopt, ""},
                                {CacheChange::Kind::kCleared, 0, std::nullopt, ""}};
  const KvBatch batch = BatchOf(journal, Tokens(16), 2);
  EXPECT_EQ(batch.rank, 2);
  ASSERT_EQ(batch.events.size(), 4u);
  EXPECT_THAT(batch.events[0].blocks, ElementsAre(1, 2));
  EXPECT_EQ(batch.events[0].parent, std::nullopt);
  EXPECT_EQ(batch.events[0].block_size, 16);
  EXPECT_EQ(batch.events[0].session, "a");
  EXPECT_EQ(batch.events[1].parent, 2u);
  EXPECT_EQ(batch.events[2].kind, KvEventKind::kRemoved);
  EXPECT_EQ(batch.events[3].kind, KvEventKind::kCleared);
}

}  // namespace
}  // namespace penstock::simulated
