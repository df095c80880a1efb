// Engines with limits in elastic memory for tests, and the core that hears of them.
#ifndef PENSTOCK_TESTS_CORE_SHARES_ELASTIC_ENGINES_H_
#define PENSTOCK_TESTS_CORE_SHARES_ELASTIC_ENGINES_H_

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/core/core_test_support.h"

namespace penstock::testing {

inline constexpr int64_t kMB = 1'000'000;

// Engines of one GPU with 24,000 MB for their caches; a token takes 10 MB. Engine i serves the model i alone.
inline Fleet ElasticFleet(int engines, bool managed) {
  Fleet fleet = MakeFleet({.replicas = engines, .shared_gpu = true, .queue = Duration::Seconds(600)});
  fleet.gpus = {{"gpu", Bytes(0), Bytes(24'000 * kMB), managed}};
  const Footprint footprint{.full_per_token = 1e7};
  fleet.models.clear();
  for (int i = 0; i < engines; ++i) {
    fleet.models.push_back({"model" + std::to_string(i)});
    fleet.pools[static_cast<size_t>(i)] = {"engine" + std::to_string(i), Amount(12'000 * kMB), true, false, true};
    ReplicaSpec& replica = fleet.replicas[static_cast<size_t>(i)];
    replica.models = {ModelId(static_cast<uint32_t>(i))};
    replica.pools = {{PoolId(static_cast<uint32_t>(engines)), footprint},
                     {PoolId(static_cast<uint32_t>(i)), footprint}};
  }
  fleet.pools.push_back({"gpu", Amount(24'000 * kMB), true, false, false});
  // Late requests stay, so that demand can be seen.
  for (ClassSpec& each : fleet.classes) each.refuse_late = false;
  return fleet;
}

// Plays engines that take each limit and use what the core expects; a stubborn one takes none.
class Engines : public CoreStepper {
 public:
  explicit Engines(int engines, bool managed) : CoreStepper(ElasticFleet(engines, managed)) {
    for (int i = 0; i < engines; ++i) limits.push_back(12'000 * kMB);
    stubborn.resize(limits.size());
    extra.resize(limits.size());
  }

  // Reports of all engines; returns the orders.
  std::vector<SetShare> Report() {
    std::vector<SetShare> orders;
    // No step ends: what runs goes on as it is.
    for (uint32_t i = 0; i < limits.size(); ++i) {
      for (int turn = 0; turn < 4; ++turn) Step(0, i);
    }
    for (uint32_t i = 0; i < limits.size(); ++i) {
      if (silent == static_cast<int>(i)) continue;
      const Bytes used(core.View(now).pools[i].held.value() + extra[i]);
      for (const Action& action : Send(ElasticReport{ReplicaId(i), now, Bytes(limits[i]), used, Bytes(0)})) {
        if (const auto* order = std::get_if<SetShare>(&action)) orders.push_back(*order);
        if (const auto* forward = std::get_if<Forward>(&action)) forwarded[forward->replica.value()]++;
      }
    }
    for (const SetShare& order : orders) {
      EXPECT_GE(order.limit, Bytes(core.View(now).pools[order.replica.value()].held.value()));
      if (!stubborn[order.replica.value()]) limits[order.replica.value()] = order.limit.value();
    }
    int64_t sum = 0;
    for (const int64_t limit : limits) sum += limit;
    EXPECT_LE(sum, 24'000 * kMB) << "the limits exceed the memory";
    all.insert(all.end(), orders.begin(), orders.end());
    return orders;
  }
  void RunFor(Duration time) {
    const Instant end = now + time;
    while (now < end) {
      Wait(Duration::Milliseconds(250));
      Report();
    }
  }
  // Requests that take so many MB at once, and ten more per token of output.
  void Ask(uint32_t model, int requests, int64_t megabytes, int64_t output = 1) {
    for (int i = 0; i < requests; ++i) {
      RequestArrived event;
      event.request = RequestId(++asked);
      event.model = ModelId(model);
      event.service_class = ClassId(1);
      event.prompt = Tokens(megabytes / 10);
      event.max_output = Tokens(output);
      Send(event);
    }
  }
  int64_t Running(size_t replica) { return core.View(now).replicas[replica].running; }
  ElasticView Elastic(size_t replica) { return core.View(now).replicas[replica].elastic; }

  std::vector<int64_t> limits;
  std::vector<bool> stubborn;  // It takes no limit.
  std::vector<int64_t> extra;  // Bytes that it uses beyond its requests.
  int silent = -1;             // It reports nothing.
  std::vector<SetShare> all;
  std::map<uint32_t, int> forwarded;
  uint64_t asked = 0;
};

}  // namespace penstock::testing

#endif  // PENSTOCK_TESTS_CORE_SHARES_ELASTIC_ENGINES_H_
