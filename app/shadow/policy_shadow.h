// A whole shadow: the comparison of decisions, and the two simulated copies of the fleet.
//
// `serve` feeds it on a thread of its own (shadow_thread.h), `simulate` within its run; both get the same report. Pure;
// one owner.
#ifndef PENSTOCK_APP_SHADOW_POLICY_SHADOW_H_
#define PENSTOCK_APP_SHADOW_POLICY_SHADOW_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "app/shadow/counterfactual.h"
#include "app/shadow/learned_pace.h"
#include "router/shadow/decision_shadow.h"
#include "router/shadow/shadow_report.h"

namespace penstock {

class PolicyShadow {
 public:
  struct Options {
    std::string decides;  // Both as for `policy:`.
    std::string shadow;
    uint64_t seed = 1;
    // The view of the core in charge, asked once a second where the shadow's core learns nothing. May be empty.
    std::function<CoreView()> in_charge;
  };

  // InvalidArgument: an unknown policy or setting.
  static absl::StatusOr<std::unique_ptr<PolicyShadow>> Create(Options options);

  // The core in charge took `event` at `now` and answered with `actions`.
  void Take(const Event& event, Instant now, const std::vector<Action>& actions);
  // Events were lost.
  void Lost(Instant now);
  // Advances the copies while `may_go_on`. True: something is left to do.
  bool Work(Instant now, const std::function<bool()>& may_go_on) { return copies_.Advance(now, may_go_on); }
  ShadowReport Report(Instant now) const;

 private:
  PolicyShadow(Options options, std::unique_ptr<AdmissionCore> core);
  // The newest view of a core that learns, where there is one.
  CoreView Learning() const;

  const Options options_;
  DecisionShadow decisions_;
  const bool learns_;
  LearnedPace pace_;
  Counterfactual copies_;
  Instant newest_;
};

}  // namespace penstock

#endif  // PENSTOCK_APP_SHADOW_POLICY_SHADOW_H_
