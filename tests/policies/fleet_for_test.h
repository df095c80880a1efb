// A small fleet and event helpers for stepping rival policies.
#ifndef PENSTOCK_TESTS_POLICIES_FLEET_FOR_TEST_H_
#define PENSTOCK_TESTS_POLICIES_FLEET_FOR_TEST_H_

#include <memory>
#include <optional>
#include <vector>

#include "router/core/contract/admission_core.h"
#include "router/policies/kit/rival_core.h"

namespace penstock {

// `replicas` replicas of model 0 (context 8192, 10,000 tokens of pool, a = 10 ms, d = 0.1 ms per token) and one replica
// of model 1. Class 0 refuses late requests (TTFT 1 s, queue 5 s), class 1 does not (queue 60 s).
inline Fleet SmallFleet(uint32_t replicas) {
  Fleet fleet;
  fleet.models = {{"chat"}, {"code"}, {"ghost"}};
  fleet.classes = {{"interactive", Duration::Seconds(1), Duration::Milliseconds(50), Duration::Seconds(5), true, false},
                   {"batch", Duration::Seconds(1), Duration::Milliseconds(50), Duration::Seconds(60), false, false}};
  for (uint32_t i = 0; i <= replicas; ++i) {
    ReplicaSpec replica;
    replica.name = "r" + std::to_string(i);
    replica.models = {ModelId(i < replicas ? 0 : 1)};
    fleet.pools.push_back({replica.name, Amount(10'000), false, false});
    replica.pools = {{PoolId(i), Footprint::InTokens(Tokens(16))}};
    replica.gpus = {i};
    replica.prior = {10, 0.03, 0.05, 0.1, 0};
    replica.max_context = Tokens(8192);
    fleet.replicas.push_back(replica);
  }
  fleet.limits.dispatch_delay = Duration::Milliseconds(10);
  return fleet;
}

// Drives a core and keeps the time.
class Stepper {
 public:
  explicit Stepper(AdmissionCore& core) : core_(core) {}

  std::vector<Action> At(double seconds, const Event& event) {
    now_ = Instant::FromSeconds(seconds);
    std::vector<Action> actions;
    core_.Apply(event, now_, actions);
    return actions;
  }
  void Start(const Fleet& fleet) {
    At(0, FleetChanged{fleet});
    for (uint32_t i = 0; i < fleet.replicas.size(); ++i) At(0, ReplicaHealth{ReplicaId(i), Health::kUp});
  }
  std::vector<Action> Report(double seconds, uint32_t replica, double kv, int waiting) {
    EngineReport report;
    report.replica = ReplicaId(replica);
    report.sampled_at = Instant::FromSeconds(seconds);
    report.kv_used_share = kv;
    report.running = 1;
    report.waiting = waiting;
    report.preemptions = 0;
    return At(seconds, report);
  }
  std::vector<Action> Arrive(double seconds, uint64_t id, int64_t prompt = 100, uint32_t service_class = 0,
                             uint32_t model = 0) {
    return At(seconds, Request(id, prompt, service_class, model));
  }
  static RequestArrived Request(uint64_t id, int64_t prompt = 100, uint32_t service_class = 0, uint32_t model = 0) {
    RequestArrived request;
    request.request = RequestId(id);
    request.model = ModelId(model);
    request.service_class = ClassId(service_class);
    request.prompt = Tokens(prompt);
    request.body = Bytes(prompt * 4);
    return request;
  }
  CoreView View() const { return core_.View(now_); }

 private:
  AdmissionCore& core_;
  Instant now_;
};

// A core with the rule, as an object that a test can hold by value.
template <class Rule>
class RivalOf : public RivalCore {
 public:
  template <class... Arguments>
  explicit RivalOf(Arguments&&... arguments)
      : RivalCore(std::make_unique<Rule>(std::forward<Arguments>(arguments)...)) {}
};

// The only action, as a T; fails the caller's expectation by nullopt.
template <class T>
std::optional<T> Only(const std::vector<Action>& actions) {
  if (actions.size() != 1 || !std::holds_alternative<T>(actions[0])) return std::nullopt;
  return std::get<T>(actions[0]);
}

}  // namespace penstock

#endif  // PENSTOCK_TESTS_POLICIES_FLEET_FOR_TEST_H_
