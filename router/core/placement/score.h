// The scores by which one of the replicas that could take a request is chosen: a named list, compared in order.
//
// Least wins; a tie goes on to the next score, and at last to the replica that was tried first:
//   band         whether the replica's fullest pool would be fuller than the emptiest by more than kPrefixBand
//   prefill      tokens of the prompt that the engine has to compute, within the band
//   peak_share   how full the fullest pool would become
//   first_token  seconds to the first token
// Pure functions.
#ifndef PENSTOCK_ROUTER_CORE_PLACEMENT_SCORE_H_
#define PENSTOCK_ROUTER_CORE_PLACEMENT_SCORE_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "base/units.h"

namespace penstock {

// A replica that passed every test for a request.
struct Choice {
  size_t replica = 0;        // Position.
  double peak_share = 0;     // Forecast bound of its fullest pool with the request, over capacity.
  double expected_ttft = 0;  // Seconds from now.
  Tokens prefill{0};         // Of the prompt, to be computed there.
  size_t growth = 0;         // Position of the request's contributions to its pools among those of all choices.
};

struct Score {
  absl::string_view name;
  // `lowest` is the least peak share of all choices.
  double (*of)(const Choice& choice, double lowest);
};

// Every score, in order.
std::vector<Score> AllScores();

// The choice of the least scores. `choices` is not empty.
const Choice& BestOf(const std::vector<Score>& scores, const std::vector<Choice>& choices);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PLACEMENT_SCORE_H_
