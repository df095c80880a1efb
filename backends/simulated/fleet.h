// A set of simulated engines that share GPUs, each listening on its own address: `penstock engine`, and the simulated
// replicas inside `serve` and `demo`.
//
// Replicas that share a GPU, directly or through others, run on one thread with one StepClock; independent groups are
// spread over as many threads as there are cores. Create, Start and Stop on one thread; the engines are reached by HTTP
// only.
//
//   auto fleet = SimulatedFleet::Create(config, SimulatedFleet::Which::kWithoutUrl);
//   if (absl::Status started = (*fleet)->Start(); !started.ok()) ...
//   for (const auto& engine : (*fleet)->engines()) use(engine.Url());
#ifndef PENSTOCK_BACKENDS_SIMULATED_FLEET_H_
#define PENSTOCK_BACKENDS_SIMULATED_FLEET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/units.h"
#include "config/config.h"

namespace penstock::simulated {

class SimulatedFleet {
 public:
  enum class Which {
    kWithUrl,     // Each on the address of its url.
    kWithoutUrl,  // Each on 127.0.0.1 and a free port.
    kAll,         // Both.
  };

  struct Engine {
    std::string replica;
    std::string model;
    std::string gpu;
    Tokens kv_tokens{0};
    std::string host;  // Bound; valid after Start().
    uint16_t port = 0;

    std::string Url() const;
  };

  // Engines of the chosen replicas with `simulated`. InvalidArgument names the replica whose shape, memory or address
  // is missing; NotFound when none is chosen.
  static absl::StatusOr<std::unique_ptr<SimulatedFleet>> Create(const Config& config, Which which);
  // Stops.
  ~SimulatedFleet();

  // Binds every address, then runs. On an error nothing runs.
  absl::Status Start();
  // Ends every connection at once, whatever runs. Returns within milliseconds; may be called twice.
  void Stop();

  // In the order of the configuration.
  const std::vector<Engine>& engines() const { return engines_; }

 private:
  struct Group;
  struct Listener;
  SimulatedFleet();

  std::vector<Engine> engines_;
  std::vector<Listener> listeners_;             // Of engines_, in the same order.
  std::vector<std::unique_ptr<Group>> groups_;  // One thread each.
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_FLEET_H_
