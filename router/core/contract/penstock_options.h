// What the decision core is built to do. The defaults are Penstock; everything else exists to be compared with it:
// ablations that leave one part out, `present_use`, and the yardstick that knows output lengths (bench/policies).
#ifndef PENSTOCK_ROUTER_CORE_CONTRACT_PENSTOCK_OPTIONS_H_
#define PENSTOCK_ROUTER_CORE_CONTRACT_PENSTOCK_OPTIONS_H_

#include <cstdint>
#include <functional>

#include "base/ids.h"
#include "base/units.h"

namespace penstock {

// What a pool must hold for one more request to enter.
enum class MemoryRule : uint8_t {
  kForecast,    // Mean + z sigma of the growth forecast, at its worst horizon.
  kPresentUse,  // What is held now, prompts on their way included.
  kUnlimited,   // No test.
};

// In which order waiting requests of a class are tried.
enum class QueueOrder : uint8_t {
  kFairDensity,   // Earliest first-token deadline, dear tokens later but no kind of request sacrificed
                  // (density_order.h).
  kDeadline,      // Earliest first-token deadline: first come first served for equal goals.
  kDensity,       // Most output tokens per second of GPU time.
  kShortestWork,  // Least GPU time.
};

struct PenstockOptions {
  MemoryRule memory = MemoryRule::kForecast;
  double fill_limit = 0.99;   // Share of a pool that the rule may fill.
  bool variance = true;       // False: z is 0.
  bool tenant_curves = true;  // False: one output curve per model and prompt bucket.
  bool learned_steps = true;  // False: step times stay at their prior.
  bool time_guards = true;    // False: only batch rows and memory are tested.
  bool gpu_wide = true;       // False: every replica is taken to have its GPUs to itself, elastic pools in equal parts.
  bool refuse_late = true;    // False: a request waits until its class's queue time, however late its first token.
  bool prefix_caches = true;  // False: no prompt is expected to be cached anywhere.
  QueueOrder order = QueueOrder::kFairDensity;
  // Whole output of a request, where it is known beforehand (simulation only).
  std::function<Tokens(RequestId)> true_output;
  bool true_growth = true;  // Known outputs count in the growth of pools too, not in the order only.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_CONTRACT_PENSTOCK_OPTIONS_H_
