// A shadow beside a reality that a test makes by hand.
#ifndef PENSTOCK_TESTS_SHADOW_BESIDE_H_
#define PENSTOCK_TESTS_SHADOW_BESIDE_H_

#include <string>
#include <vector>

#include "router/policies/policy_factory.h"
#include "router/shadow/decision_shadow.h"
#include "tests/shadow/shadow_fleet.h"

namespace penstock {

// A shadow, and what a router in charge really does.
class Beside {
 public:
  explicit Beside(const std::string& policy, uint32_t replicas = 2) : shadow(MakePolicy(policy, 1)) {
    Tell(FleetChanged{ShadowFleet(replicas)});
    for (uint32_t i = 0; i < replicas; ++i) Tell(ReplicaHealth{ReplicaId(i), Health::kUp});
  }

  void Tell(const Event& event, const std::vector<Action>& actions = {}) {
    shadow.Take(event, Instant::FromSeconds(now), actions);
  }
  void Wait(double seconds) { now += seconds; }

  void Arrives(uint64_t id, const std::vector<Action>& actions, int64_t prompt = 500) {
    RequestArrived arrived;
    arrived.request = RequestId(id);
    arrived.prompt = Tokens(prompt);
    Tell(arrived, actions);
  }
  static Action Sent(uint64_t id, uint32_t replica) { return Forward{RequestId(id), ReplicaId(replica), LeaseId(id)}; }
  static Action Waits(uint64_t id) { return Park{RequestId(id)}; }
  static Action Refused(uint64_t id, Refusal reason = Refusal::kQueueFull) { return Refuse{RequestId(id), reason}; }
  // The first token, and the end after `seconds` more.
  void Ends(uint64_t id, double first, double seconds, int64_t tokens) {
    Wait(first);
    Tell(FirstToken{RequestId(id)});
    Wait(seconds);
    Tell(RequestClosed{RequestId(id), Outcome::kFinished, Tokens(500), Tokens(tokens)});
  }

  ShadowReport Report() { return shadow.Report(Instant::FromSeconds(now)); }
  const VerdictTally& Of(ShadowVerdict verdict) {
    report = Report();
    return report.verdicts[static_cast<size_t>(verdict)];
  }
  int64_t Running(size_t replica) { return shadow.View(Instant::FromSeconds(now)).replicas[replica].running; }

  DecisionShadow shadow;
  ShadowReport report;
  double now = 1;
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_SHADOW_BESIDE_H_
