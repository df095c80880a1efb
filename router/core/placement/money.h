// The money that a request costs on a replica: the price of the GPU seconds that it adds.
//
// Its prefill counts, and for each token of its output the time by which it makes a step longer. At an idle engine that
// is the whole step, so company is cheap. Only a replica that is well within all goals has a cost in money: a cheap
// replica never makes anybody late. Pure; O(1).
#ifndef PENSTOCK_ROUTER_CORE_PLACEMENT_MONEY_H_
#define PENSTOCK_ROUTER_CORE_PLACEMENT_MONEY_H_

#include "router/core/placement/guards.h"

namespace penstock {

// The part of each goal, and of the pool, that a replica may use up and still be chosen for its price.
inline constexpr double kWellWithin = 0.6;

// The cost of a replica that is not well within the goals: it is compared by the other scores.
inline constexpr double kNoMoney = 1e18;

// `output`: expected tokens of each sequence. `peak_share`: as in Choice.
double MoneyOf(const GuardQuestion& question, double output, double peak_share);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PLACEMENT_MONEY_H_
