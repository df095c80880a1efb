// One simulated engine: its names, limits and speed, from the configuration.
#ifndef PENSTOCK_BACKENDS_SIMULATED_ENGINE_ENGINE_SPEC_H_
#define PENSTOCK_BACKENDS_SIMULATED_ENGINE_ENGINE_SPEC_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/simulated/engine/cache_feed.h"
#include "backends/simulated/machine/step_machine.h"
#include "base/units.h"
#include "config/config.h"
#include "kvmodel/step_coefficients.h"

namespace penstock::simulated {

struct EngineSpec {
  std::string id;
  std::string model;
  std::vector<std::string> aliases;
  std::string gpu;          // The name of the GPU kind.
  std::string elastic_gpu;  // The GPU with the elastic memory of the cache. Empty: the cache has its own memory.
  Bytes elastic_kv{0};      // The size of the elastic memory.
  EngineLimits limits;      // Overflow::kError also selects the dialect of llama-server.
  StepCoefficients step;
  std::vector<AdapterConfig> adapters;  // That it can load.
  SlowdownConfig slowdown;              // Its window counts simulated time since the start.
  double noise = 0;
  std::optional<SleepConfig> doze;  // It gives its memory back by itself; times are simulated.
  Duration host_time;               // Simulated; of a request in the API server, before it waits for a step.
  double time_scale = 1;            // 10 means ten times faster than real time.
  uint64_t seed = 1;
  bool natural = false;                   // Answers end by themselves, and the model calls tools of its own choice.
  bool hands_over = false;                // It has a connector: it keeps caches for other engines and fetches theirs.
  double transfer = 0;                    // Seconds per token of a cache on its way to another engine; simulated.
  std::shared_ptr<CacheFeed> cache_feed;  // Null: nobody wants to know the changes of its prefix cache.

  bool LlamaDialect() const { return limits.overflow == Overflow::kError; }
  bool Serves(const std::string& name) const;
};

// The engine of a replica with `simulated`. A replica without GPUs gets an a100-80 of its own. InvalidArgument names
// the missing part: the model, its shape, or memory for its cache.
//
// With Overflow::kError blocks are single tokens and prompts are not cached. The use of the pool is then the sum of the
// tokens in the slots, as a router counts it.
absl::StatusOr<EngineSpec> SpecOf(const Config& config, const ReplicaConfig& replica);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_ENGINE_ENGINE_SPEC_H_
