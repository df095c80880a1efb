#include "router/live/key_counts.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace penstock {
namespace {

TEST(KeyCounts, AKeyHasItsMostAndGivesPlacesBack) {
  KeyCounts counts;
  std::optional<KeyCounts::Place> first = counts.Enter(TenantId(1), 2);
  std::optional<KeyCounts::Place> second = counts.Enter(TenantId(1), 2);
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(counts.Enter(TenantId(1), 2));
  EXPECT_TRUE(counts.Enter(TenantId(17), 2)) << "another key of the same shard";
  first.reset();
  EXPECT_TRUE(counts.Enter(TenantId(1), 2));
}

TEST(KeyCounts, AMovedPlaceCountsOnce) {
  KeyCounts counts;
  std::optional<KeyCounts::Place> place = counts.Enter(TenantId(1), 1);
  {
    const KeyCounts::Place moved = *std::move(place);
    EXPECT_FALSE(counts.Enter(TenantId(1), 1));
  }
  EXPECT_TRUE(counts.Enter(TenantId(1), 1));
}

TEST(KeyCounts, ThreadsNeverExceedTheBound) {
  KeyCounts counts;
  std::atomic<int> inside{0}, most{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 20'000; ++turn) {
        const std::optional<KeyCounts::Place> place = counts.Enter(TenantId(5), 2);
        if (!place) continue;
        const int now = ++inside;
        int seen = most;
        while (now > seen && !most.compare_exchange_weak(seen, now)) continue;
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, 2);
  EXPECT_TRUE(counts.Enter(TenantId(5), 1)) << "every place came back";
}

}  // namespace
}  // namespace penstock
