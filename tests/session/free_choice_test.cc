// Requests that the core does not hear of go to engines that are up and awake first.
#include "router/session/free_choice.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

FreeTurn TurnOf(Health health, bool away) {
  EngineNotes notes;
  notes.health = health;
  notes.away = away;
  return FreeTurnOf(&notes);
}

TEST(FreeChoice, AnEngineThatIsUpAndAwakeIsAskedFirst) {
  EXPECT_EQ(TurnOf(Health::kUp, false), FreeTurn::kFirst);
  EXPECT_EQ(FreeTurnOf(nullptr), FreeTurn::kFirst) << "nobody watches it";
}

TEST(FreeChoice, OneThatDrainsOrCameBackIsAskedWhereThereIsNoOther) {
  EXPECT_EQ(TurnOf(Health::kDraining, false), FreeTurn::kSecond);
  EXPECT_EQ(TurnOf(Health::kProbing, false), FreeTurn::kSecond);
}

TEST(FreeChoice, OneThatIsDownOrNotAwakeIsNeverAsked) {
  EXPECT_EQ(TurnOf(Health::kDown, false), FreeTurn::kNever);
  for (const Health health : {Health::kDown, Health::kProbing, Health::kUp, Health::kDraining}) {
    EXPECT_EQ(TurnOf(health, true), FreeTurn::kNever) << static_cast<int>(health);
  }
}

}  // namespace
}  // namespace penstock
