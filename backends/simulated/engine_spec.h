// One simulated engine as its configuration describes it: limits, speed, names.
#ifndef PENSTOCK_BACKENDS_SIMULATED_ENGINE_SPEC_H_
#define PENSTOCK_BACKENDS_SIMULATED_ENGINE_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/simulated/step_machine.h"
#include "base/units.h"
#include "config/config.h"
#include "kvmodel/step_coefficients.h"

namespace penstock::simulated {

struct EngineSpec {
  std::string id;
  std::string model;
  std::vector<std::string> aliases;
  std::string gpu;          // Name of the kind.
  std::string elastic_gpu;  // Whose elastic memory its cache is part of; empty: it has its own.
  Bytes elastic_kv{0};      // Of that memory.
  EngineLimits limits;      // Overflow::kError also chooses llama-server's dialect.
  StepCoefficients step;
  SlowdownConfig slowdown;  // In simulated time since the start.
  double time_scale = 1;    // Ten is ten times faster.
  uint64_t seed = 1;

  bool LlamaDialect() const { return limits.overflow == Overflow::kError; }
  bool Serves(const std::string& name) const;
};

// The engine of a replica with `simulated`. A replica without GPUs runs on an a100-80 of its own. InvalidArgument names
// what is missing: the model, its shape, or memory for its cache.
//
// In the shared-pool dialect cells are single tokens and prompts are not cached, so that the pool's use is the sum of
// what the slots hold, as a router has to count it.
absl::StatusOr<EngineSpec> SpecOf(const Config& config, const ReplicaConfig& replica);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_ENGINE_SPEC_H_
