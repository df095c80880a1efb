#include "router/live/key_counts.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <utility>
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

TEST(SharedPlaces, OneCallerLeavesAQuarterOfThemAndOthersTakeIt) {
  for (const auto& [all, mine] : std::vector<std::pair<int, int>>{{0, 0}, {1, 1}, {3, 3}, {4, 3}, {100, 75}}) {
    SharedPlaces places;
    std::vector<std::optional<SharedPlaces::Place>> held;
    for (int i = 0; i < all + 1; ++i) {
      held.push_back(places.Enter(1, all));
      EXPECT_EQ(held.back().has_value(), i < mine) << all;
    }
    for (int i = mine; i < all + 1; ++i) {
      held.push_back(places.Enter(2, all));
      EXPECT_EQ(held.back().has_value(), i < all) << all;
    }
  }
}

TEST(SharedPlaces, APlaceIsGivenBackOnceAlsoWhereItWasMoved) {
  SharedPlaces places;
  std::optional<SharedPlaces::Place> place = places.Enter(1, 1);
  ASSERT_TRUE(place);
  {
    const SharedPlaces::Place moved = *std::move(place);
    place.reset();
    EXPECT_FALSE(places.Enter(2, 1));
  }
  EXPECT_TRUE(places.Enter(2, 1));
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
