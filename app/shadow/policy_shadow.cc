#include "app/shadow/policy_shadow.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "router/policies/policy_factory.h"

namespace penstock {

absl::StatusOr<std::unique_ptr<PolicyShadow>> PolicyShadow::Create(Options options) {
  std::string error;
  if (MakePolicy(options.decides, options.seed, &error) == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("policy: ", error));
  }
  std::unique_ptr<AdmissionCore> core = MakePolicy(options.shadow, options.seed, &error);
  if (core == nullptr) return absl::InvalidArgumentError(absl::StrCat("shadow: ", error));
  return std::unique_ptr<PolicyShadow>(new PolicyShadow(std::move(options), std::move(core)));
}

PolicyShadow::PolicyShadow(Options options, std::unique_ptr<AdmissionCore> core)
    : options_(std::move(options)),
      decisions_(std::move(core)),
      learns_(decisions_.Report(Instant()).forecasts),
      copies_([this](bool shadow) { return MakePolicy(shadow ? options_.shadow : options_.decides, options_.seed); },
              [this] { return pace_.View(); }, options_.seed) {
  decisions_.OnEnd([this](const TrackedRequest& tracked, const RequestClosed* closed, const Service& service,
                          Instant now) { copies_.Ended(tracked, closed, service, now); });
}

CoreView PolicyShadow::Learning() const {
  if (learns_) return decisions_.View(newest_);
  return options_.in_charge ? options_.in_charge() : CoreView();
}

void PolicyShadow::Take(const Event& event, Instant now, const std::vector<Action>& actions) {
  newest_ = std::max(newest_, now);
  const auto* arrived = std::get_if<RequestArrived>(&event);
  if (arrived != nullptr && !ShadowSkips(actions)) copies_.Arrived(*arrived, now);
  if (const auto* health = std::get_if<ReplicaHealth>(&event)) {
    copies_.SetHealth(health->replica, health->health, now);
  }
  if (const auto* changed = std::get_if<FleetChanged>(&event)) {
    pace_.Take(changed->fleet);
    for (uint32_t i = 0; i < changed->fleet.replicas.size(); ++i) {
      // The next replica on its place comes up by its own news.
      if (changed->fleet.replicas[i].removed) copies_.SetHealth(ReplicaId(i), Health::kDown, now);
    }
    copies_.SetFleet(changed->fleet);
  }
  if (const auto* report = std::get_if<EngineReport>(&event)) pace_.Take(*report);
  decisions_.Take(event, now, actions);
  pace_.Sample(now, [this] { return Learning(); });
}

void PolicyShadow::Lost(Instant now) {
  decisions_.Reset(now);
  copies_.Restart();
}

ShadowReport PolicyShadow::Report(Instant now) const {
  ShadowReport report = decisions_.Report(now);
  report.decides = options_.decides;
  report.shadow = options_.shadow;
  copies_.Show(report.counterfactual, now);
  return report;
}

}  // namespace penstock
