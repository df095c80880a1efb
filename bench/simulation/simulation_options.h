// The conditions of a simulated run: errors of the router's knowledge, delays, periods.
#ifndef PENSTOCK_BENCH_SIMULATION_SIMULATION_OPTIONS_H_
#define PENSTOCK_BENCH_SIMULATION_SIMULATION_OPTIONS_H_

#include <cstdint>
#include <functional>

#include "base/units.h"

namespace penstock::bench {

struct SimulationOptions {
  uint64_t seed = 1;
  double prompt_error = 0.03;  // Relative standard deviation of a prompt's estimate.
  double prompt_bias = 0;      // Standard deviation over tenants of the mean error of their prompts' estimates.
  double step_error = 0.1;     // Largest relative error of the core's prior of a replica's step time.
  Duration report_period = Duration::Milliseconds(250);
  Duration report_delay = Duration::Milliseconds(5);
  Duration link_delay = Duration::Microseconds(500);  // One way.
  Duration sample_period = Duration::Milliseconds(25);
  Duration window = Duration::Seconds(300);  // The time that rates are taken over.
  bool retry = false;                        // A refused client comes back once, after its Retry-After.
  bool one_pool = false;                     // The router takes the ranks of an engine for one pool (one_pool.h).
  // Called about once per simulated second with the virtual time and the number of ended requests; may be empty.
  std::function<void(Duration, int64_t)> progress;
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_SIMULATION_OPTIONS_H_
