#include "router/core/queue/tenant_boosts.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

constexpr TenantId kVictim(7);

// Another tenant of the victim's set.
TenantId Neighbour(uint64_t number) { return TenantId(kVictim.value() + (number + 1) * TenantBoosts::kSets); }

TEST(TenantBoosts, ABoostIsZeroToOne) {
  TenantBoosts boosts;
  EXPECT_EQ(boosts.Of(kVictim), 0);
  boosts.Add(kVictim, -0.5F);
  EXPECT_EQ(boosts.Of(kVictim), 0);
  boosts.Add(kVictim, 0.25F);
  EXPECT_EQ(boosts.Of(kVictim), 0.25F);
  for (int i = 0; i < 10; ++i) boosts.Add(kVictim, 0.25F);
  EXPECT_EQ(boosts.Of(kVictim), 1);
}

TEST(TenantBoosts, NoOtherTenantMovesABoost) {
  TenantBoosts boosts;
  boosts.Add(kVictim, 0.5F);
  for (uint64_t i = 0; i < 10'000; ++i) boosts.Add(Neighbour(i), i % 2 == 0 ? -0.02F : 0.02F);
  EXPECT_EQ(boosts.Of(kVictim), 0.5F);
}

TEST(TenantBoosts, ATenantThatIsRefusedMoreTakesTheSmallestEntryOfAFullSet) {
  TenantBoosts boosts;
  for (uint64_t i = 0; i < TenantBoosts::kWays; ++i) boosts.Add(Neighbour(i), 0.1F * static_cast<float>(i + 1));
  boosts.Add(kVictim, 0.05F);
  EXPECT_EQ(boosts.Of(kVictim), 0) << "all of the set have more";
  boosts.Add(kVictim, 0.15F);
  EXPECT_EQ(boosts.Of(kVictim), 0.15F);
  EXPECT_EQ(boosts.Of(Neighbour(0)), 0);
  EXPECT_EQ(boosts.Of(Neighbour(1)), 0.2F);
}

TEST(TenantBoosts, AnEntryThatHasFallenToNothingIsFree) {
  TenantBoosts boosts;
  for (uint64_t i = 0; i < TenantBoosts::kWays; ++i) boosts.Add(Neighbour(i), 0.5F);
  boosts.Add(Neighbour(2), -0.5F);
  boosts.Add(kVictim, 0.01F);
  EXPECT_EQ(boosts.Of(kVictim), 0.01F);
}

}  // namespace
}  // namespace penstock
