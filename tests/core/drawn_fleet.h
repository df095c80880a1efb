// Fleets and settings of a decision core, drawn at random, and what a reload or a discovery may change about them.
#ifndef PENSTOCK_TESTS_CORE_DRAWN_FLEET_H_
#define PENSTOCK_TESTS_CORE_DRAWN_FLEET_H_

#include "router/core/contract/fleet.h"
#include "router/policies/variants/penstock_variants.h"
#include "tests/core/choices.h"

namespace penstock::testing {

// Half of them Penstock itself, the others any ablation.
PenstockVariant DrawVariant(Choices& choices);

// Mostly two models on five replicas. Their pools are one of its own, an elastic one of two, one whose overflow is
// fatal, and none. Now and then dozens of small replicas, more than are searched at once.
Fleet DrawFleet(Choices& choices);

// One change; lists only grow.
void ChangeFleet(Choices& choices, Fleet& fleet);

// Pools in which every request that FaultWorld makes fits.
void MakeRoom(Fleet& fleet);

}  // namespace penstock::testing

#endif  // PENSTOCK_TESTS_CORE_DRAWN_FLEET_H_
