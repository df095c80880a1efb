// A fleet of sleepers for tests: some models with a replica each, on GPUs with memory for some of them.
#ifndef PENSTOCK_TESTS_CORE_RESIDENCY_SLEEPING_FLEET_H_
#define PENSTOCK_TESTS_CORE_RESIDENCY_SLEEPING_FLEET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/core/core_test_support.h"

namespace penstock::testing {

struct SleeperOptions {
  int models = 3;
  int gpus = 1;
  int64_t memory = 20;    // The memory of a GPU.
  int64_t resident = 10;  // The memory of an awake replica.
  Duration after = Duration::Seconds(30);
  Duration wake = Duration::Seconds(1);
  Duration ttft = Duration::Seconds(10);
  bool copies = false;  // Each model has a replica on each GPU; replica g * models + m.
};

inline Fleet SleepingFleet(const SleeperOptions& options) {
  FleetOptions plain;
  plain.replicas = options.models * (options.copies ? options.gpus : 1);
  Fleet fleet = MakeFleet(plain);
  fleet.models.clear();
  for (int i = 0; i < options.models; ++i) fleet.models.push_back({"model" + std::to_string(i)});
  for (int i = 0; i < options.gpus; ++i) fleet.gpus.push_back({"gpu" + std::to_string(i), Bytes(options.memory)});
  for (ClassSpec& service_class : fleet.classes) service_class.ttft = options.ttft;
  for (int i = 0; i < plain.replicas; ++i) {
    ReplicaSpec& replica = fleet.replicas[static_cast<size_t>(i)];
    replica.models = {ModelId(static_cast<uint32_t>(i % options.models))};
    replica.gpus = {static_cast<uint32_t>(options.copies ? i / options.models : i % options.gpus)};
    replica.resident = Bytes(options.resident);
    replica.sleep = SleepSpec{options.after, options.wake};
  }
  return fleet;
}

// A core over such a fleet. Orders end at once where a test says so.
class SleepingCore : public CoreStepper {
 public:
  // The first `awake` replicas are awake, all others sleep.
  SleepingCore(const Fleet& fleet, uint32_t awake) : CoreStepper(fleet) {
    for (uint32_t i = 0; i < fleet.replicas.size(); ++i) {
      if (fleet.replicas[i].sleep) Told(i, i < awake ? Residency::kAwake : Residency::kAsleep);
    }
  }

  std::vector<Action> Told(uint32_t replica, Residency residency, bool failed = false, double took = 0) {
    return Send(ReplicaResidency{ReplicaId(replica), residency, failed, Duration::Seconds(took)});
  }
  std::vector<Action> ArriveFor(uint64_t id, uint32_t model, ClassId service_class = ClassId(1)) {
    RequestArrived event;
    event.request = RequestId(id);
    event.model = ModelId(model);
    event.service_class = service_class;
    event.prompt = Tokens(100);
    return Send(event);
  }
  Residency ResidencyOf(size_t replica) const { return core.View(now).replicas[replica].residency; }
};

// The actions of one kind.
template <class Kind>
std::vector<Kind> AllOf(const std::vector<Action>& actions) {
  std::vector<Kind> found;
  for (const Action& action : actions) {
    if (const Kind* one = std::get_if<Kind>(&action)) found.push_back(*one);
  }
  return found;
}

}  // namespace penstock::testing

#endif  // PENSTOCK_TESTS_CORE_RESIDENCY_SLEEPING_FLEET_H_
