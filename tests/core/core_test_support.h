// A small fleet and a stepper for tests of the decision core: feed an event, look at the actions.
#ifndef PENSTOCK_TESTS_CORE_CORE_TEST_SUPPORT_H_
#define PENSTOCK_TESTS_CORE_CORE_TEST_SUPPORT_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "router/core/contract/event_log.h"
#include "router/core/penstock_core.h"

namespace penstock::testing {

struct FleetOptions {
  int replicas = 1;
  int64_t pool_tokens = 100'000;
  bool enforce_goals = true;
  bool fatal = false;
  int max_sequences = 256;
  bool shared_gpu = false;
  bool elastic = false;  // One pool for all replicas.
  Duration queue = Duration::Seconds(30);
};

// Pools in tokens, so that amounts are easy to read; steps of about 10 ms, and every prompt token 0.05 ms.
inline Fleet MakeFleet(const FleetOptions& options) {
  Fleet fleet;
  fleet.models.push_back({"chat"});
  const bool late = options.enforce_goals;
  fleet.classes = {{"interactive", Duration::Seconds(1), Duration::Milliseconds(50), Duration::Seconds(5), late, false},
                   {"standard", Duration::Seconds(2), Duration::Milliseconds(100), options.queue, late, false},
                   {"background", Duration::Seconds(3600), Duration::Seconds(1), Duration::Seconds(86400), late, true}};
  for (int i = 0; i < options.replicas; ++i) {
    if (i == 0 || !options.elastic) {
      PoolSpec pool;
      pool.name = "pool" + std::to_string(i);
      pool.capacity = Amount(options.pool_tokens);
      pool.in_bytes = false;
      pool.overflow_fatal = options.fatal;
      fleet.pools.push_back(pool);
    }
    ReplicaSpec replica;
    replica.name = "replica" + std::to_string(i);
    replica.models = {ModelId(0)};
    const uint32_t pool = options.elastic ? 0 : static_cast<uint32_t>(i);
    replica.pools.push_back({PoolId(pool), Footprint::InTokens(Tokens(1))});
    replica.gpus = {options.shared_gpu ? 0u : static_cast<uint32_t>(i)};
    replica.prior = StepCoefficients{10, 0, 0, 0.05, 0};
    replica.max_context = Tokens(50'000);
    replica.max_sequences = options.max_sequences;
    fleet.replicas.push_back(replica);
  }
  return fleet;
}

class CoreStepper {
 public:
  explicit CoreStepper(const Fleet& fleet) {
    Send(FleetChanged{fleet});
    for (uint32_t i = 0; i < fleet.replicas.size(); ++i) Send(ReplicaHealth{ReplicaId(i), Health::kUp});
  }

  std::vector<Action> Send(const Event& event) {
    std::vector<Action> actions;
    core.Apply(event, now, actions);
    EXPECT_EQ(core.CheckBooks(), "");
    return actions;
  }
  std::vector<Action> Arrive(uint64_t id, int64_t prompt, ClassId service_class = ClassId(1)) {
    RequestArrived event;
    event.request = RequestId(id);
    event.service_class = service_class;
    event.prompt = Tokens(prompt);
    return Send(event);
  }
  std::vector<Action> Finish(uint64_t id, int64_t output) {
    return Send(RequestClosed{RequestId(id), Outcome::kFinished, Tokens(0), Tokens(output), false});
  }
  // `steps` decode steps of one replica end now.
  std::vector<Action> Step(int64_t steps, uint32_t replica = 0) {
    return Send(Progress{{{ReplicaId(replica), steps, now}}, {}});
  }
  void Wait(Duration duration) { now = now + duration; }
  // Fires timers until `until`, collecting what they cause.
  std::vector<Action> RunTimers(Instant until) {
    std::vector<Action> all;
    while (core.NextDeadline() && *core.NextDeadline() <= until) {
      now = std::max(now, *core.NextDeadline());
      for (const Action& action : Send(TimerFired{})) all.push_back(action);
    }
    now = std::max(now, until);
    return all;
  }

  PenstockCore core;
  Instant now = Instant::FromSeconds(100);
};

// Actions as text, for messages and comparisons.
inline std::string Text(const std::vector<Action>& actions) {
  std::string text;
  for (const Action& action : actions) text += FormatAction(Instant(), action) + "\n";
  return text;
}

template <class Kind>
const Kind* Only(const std::vector<Action>& actions) {
  return actions.size() == 1 ? std::get_if<Kind>(&actions[0]) : nullptr;
}

}  // namespace penstock::testing

#endif  // PENSTOCK_TESTS_CORE_CORE_TEST_SUPPORT_H_
