// The load that a policy carries: the search behind `penstock simulate --carried`.
//
// One search is noise of some percent where requests are few. So it can be repeated: each repetition has the next seed,
// and where `shift` is set, a window that begins later by as much. The answer is the median, with an interval.
#ifndef PENSTOCK_APP_SIMULATE_CARRIED_SEARCH_H_
#define PENSTOCK_APP_SIMULATE_CARRIED_SEARCH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "app/simulate/simulation_setup.h"
#include "bench/simulation/search/median_interval.h"
#include "bench/traces/trace.h"

namespace penstock {

struct CarriedRequest {
  std::string trace;          // File or `generate:NAME`.
  bench::TraceWindow window;  // Its rate is where the search starts.
  std::string policy = "penstock";
  uint64_t seed = 1;
  int seeds = 1;
  Duration shift;          // In the trace's own time.
  double prompt_bias = 0;  // SimulationOptions::prompt_bias.
  double on_time = 0.99;   // Least share of the feasible requests that must be on time.
  // For each rate tried: the share on time there, and the share of the whole work that is done by estimate.
  std::function<void(double rate, double on_time, double done)> progress;
};

struct CarriedLoad {
  bench::MedianInterval rate;
  std::vector<double> by_seed;
  double bound = 0;  // Median of the rates beyond which no router could keep that share on time, by GPU time alone.
  bool at_least = false;  // Beyond the search's highest rate nothing was tried.
  // At most so much of it is a queue that the end of the window hides. The fleet serves what waits then within its TTFT
  // goal. With the longest goal g and a window of length w: g / (g + w), in 0..1.
  double hidden = 0;
};

// A rate that leaves no request in the window passes. OutOfRange: the window is empty at the first rate, or a later
// window is empty at every rate. InvalidArgument: the policy is unknown, or a window has no request whose first token
// an idle fleet makes in time.
absl::StatusOr<CarriedLoad> FindCarriedLoad(const SimulationSetup& setup, const CarriedRequest& request);

std::string CarriedJson(const CarriedLoad& load, const CarriedRequest& request);
std::string CarriedText(const CarriedLoad& load, const CarriedRequest& request);

}  // namespace penstock

#endif  // PENSTOCK_APP_SIMULATE_CARRIED_SEARCH_H_
