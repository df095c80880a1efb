// Simulated engines that share GPUs, each with its own address: `penstock engine`, and the simulated replicas inside
// `serve` and `demo`.
//
// Replicas that share a GPU, directly or through others, run on one thread with one StepClock. Independent groups are
// spread over as many threads as there are cores. Call Create(), Start() and Stop() on one thread. Requests reach the
// engines by HTTP only.
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
    kWithUrl,     // Replicas with a url, each on its address.
    kWithoutUrl,  // Replicas without a url, each on 127.0.0.1 and a free port.
    kAll,         // Both kinds.
  };

  struct Engine {
    std::string replica;
    std::string model;
    std::string gpu;
    Tokens kv_tokens{0};
    std::string host;  // The bound address, valid after Start().
    uint16_t port = 0;

    std::string Url() const;
  };

  // The engines of the chosen replicas with `simulated`. InvalidArgument names a replica without shape, memory or
  // address. NotFound when no replica is chosen.
  static absl::StatusOr<std::unique_ptr<SimulatedFleet>> Create(const Config& config, Which which);
  // Calls Stop().
  ~SimulatedFleet();

  // Binds every address, then runs the engines. On an error no engine runs.
  absl::Status Start();
  // Ends every connection and request at once. Returns within milliseconds. A second call does nothing.
  void Stop();

  // The engines, in the order of the configuration.
  const std::vector<Engine>& engines() const { return engines_; }

 private:
  struct Group;
  struct Listener;
  struct Publication;
  SimulatedFleet();
  static void PlayOutage(const Listener& listener);

  std::vector<Engine> engines_;
  std::vector<Publication> publications_;       // One per rank of an engine.
  std::vector<Listener> listeners_;             // One per engine, in the same order.
  std::vector<std::unique_ptr<Group>> groups_;  // One thread each.
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_FLEET_H_
