// The replaceable rules of a core. The defaults are Penstock.
//
// Ablations and yardsticks (router/policies/variants/penstock_variants.h) put another object into the room that it
// belongs to; no room asks which variant it is part of. Move-only: a rule may keep state of its core.
#ifndef PENSTOCK_ROUTER_CORE_ADMISSION_CORE_RULES_H_
#define PENSTOCK_ROUTER_CORE_ADMISSION_CORE_RULES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "router/core/books/forecasts.h"
#include "router/core/placement/guards.h"
#include "router/core/placement/memory_test.h"
#include "router/core/placement/search.h"
#include "router/core/queue/lane_order.h"
#include "router/core/queue/lateness.h"

namespace penstock {

struct CoreRules {
  std::unique_ptr<const OutputKnowledge> outputs = std::make_unique<OutputKnowledge>();
  std::unique_ptr<LaneOrder> order = std::make_unique<FairDensityOrder>();
  std::vector<LateBound> late = AllLateBounds();
  // Requests whose TTFT goal no server could make stand behind all others.
  bool best_effort_apart = true;
  // A request that cannot expect to be on time is refused before its last chance has passed.
  bool early_refusal = true;
  // A request waits for the prefill of another one that shares its prompt.
  bool first_prefill = true;
  // Replicas that are slower than their peers are derated, and those that stand still take nothing.
  bool grey = true;
  // The tokens that a stream gets in one step of its engine are learned; false: it is taken to get one.
  bool speculation = true;
  // Requests of a lane that have a reservation at a time. Untuned: one per replica of a small fleet.
  size_t reservations = 8;
  std::vector<Guard> guards = AllGuards();
  // In large fleets.
  SearchEffort search;
  std::unique_ptr<const MemoryRule> memory = std::make_unique<ForecastRule>();
  // The books are recounted after every so many events: tests recount after each.
  int64_t events_per_recount = 4096;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_ADMISSION_CORE_RULES_H_
