// The scores by which one of the replicas that could take a request is chosen: a named list, compared in order.
//
// Least wins; a tie goes on to the next score, and at last to the first replica:
//   money        of the request, where every replica has a price and this one is well within the goals (money.h)
//   cost         GPU seconds: the price of the pool as full as it becomes and the steps that a second copy of the model
//                makes of its own, less the prefill that cached prompts save
//   peak_share   how full the fullest pool would become
//   first_token  seconds to the first token
//
// The price of a whole pool is kMemoryPrice of the GPU seconds that its prompts cost. Memory that a request takes is
// lost to cached prompts, which then are computed again. All choices have one price: that of the most expensive pool
// among the choices, in a large fleet among all servers. So the emptiest pool wins where no prompt is cached. A large
// fleet compares the money of the replicas that it tries. Pure functions.
#ifndef PENSTOCK_ROUTER_CORE_PLACEMENT_SCORE_H_
#define PENSTOCK_ROUTER_CORE_PLACEMENT_SCORE_H_

#include <vector>

#include "absl/strings/string_view.h"

namespace penstock {

// A replica that passed every test for a request.
struct Choice {
  size_t replica = 0;        // Position.
  double peak_share = 0;     // Forecast bound of its fullest pool with the request, over capacity, times its derate.
  double expected_ttft = 0;  // Seconds from now.
  double saved = 0;          // GPU seconds of prefill that its cached prompts are expected to save.
  double pool_seconds = 0;   // GPU seconds of the prompts like this one that fill its smallest pool; 0 without a pool.
  size_t growth = 0;         // Position of the request's contributions to its pools among those of all choices.
  double own_steps = 0;      // GPU seconds of steps beside those of an earlier copy on the same GPUs; 0: there is none.
  double money = 0;          // kNoMoney: it is not well within the goals; 0: prices are not compared.
};

// The part of the GPU seconds of a pool's prompts that the whole pool is worth. On bench/scenarios/agentic.yaml, 0.03
// to 0.4 are alike; at 1 and above, sessions move between replicas more often than their memory is worth.
inline constexpr double kMemoryPrice = 0.2;

// Two copies of a model on time-sliced GPUs take turns, so each of their steps lasts twice as long. A second copy costs
// so many steps as long as the first one has room. Once both run, it costs nothing from this fullness of the first one
// on. Two equal copies are faster than a large and a small one.
inline constexpr double kOwnSteps = 50;
inline constexpr double kEvenFrom = 0.4;

struct Score {
  absl::string_view name;
  // `price` is that of a whole pool, in GPU seconds.
  double (*of)(const Choice& choice, double price);
};

// Every score, in order.
std::vector<Score> AllScores();

// The first of the scores.
double CostOf(const Choice& choice, double price);
// The price of the most expensive pool among the choices.
double PriceAmong(const std::vector<Choice>& choices);

// True: `a` has the lesser scores.
bool IsBetter(const std::vector<Score>& scores, const Choice& a, const Choice& b, double price);
// The choice of the least scores. `choices` is not empty.
const Choice& BestOf(const std::vector<Score>& scores, const std::vector<Choice>& choices, double price);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PLACEMENT_SCORE_H_
