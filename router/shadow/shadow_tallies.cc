#include "router/shadow/shadow_tallies.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

// The shadow had sent the request, and nothing took it back.
bool IsAhead(const TrackedRequest& tracked) { return tracked.place == ShadowPlace::kAhead && tracked.sent; }

}  // namespace

ShadowVerdict ShadowTallies::OfForward(const TrackedRequest& tracked, const Forward& forward, Instant now) {
  if (IsAhead(tracked)) {
    if (now - tracked.sent_at > kTogether) return ShadowVerdict::kEarlier;
    return tracked.sent->replica == forward.replica ? ShadowVerdict::kSame : ShadowVerdict::kOtherReplica;
  }
  return tracked.refused ? ShadowVerdict::kRefuses : ShadowVerdict::kWaits;
}

ShadowVerdict ShadowTallies::OfRefusal(const TrackedRequest& tracked) {
  if (IsAhead(tracked)) return ShadowVerdict::kServes;
  return tracked.refused ? ShadowVerdict::kBothRefuse : ShadowVerdict::kWaitsOn;
}

void ShadowTallies::Count(const TrackedRequest& tracked, Instant now, std::optional<WaitReason> waits) {
  VerdictTally& tally = tallies_[static_cast<size_t>(*tracked.verdict)];
  ++tally.requests;
  if (forecasts_) CountForecasts(tracked, now, tally);
  if (TraitsOf(*tracked.verdict).differs) Remember(tracked, now, waits);
}

void ShadowTallies::CountForecasts(const TrackedRequest& tracked, Instant now, VerdictTally& tally) const {
  const bool safe = !tracked.sent || tracked.sent->peak_share <= 1;
  if (tracked.placed && tracked.placed->peak_share > 1 && safe) ++tally.overfull;
  if (!tracked.sent) return;
  const Forward& shadow = *tracked.sent;
  const ClassSpec& goals = fleet_.classes[tracked.request.service_class.value()];
  if (tracked.sent_at + shadow.expected_ttft <= tracked.arrived + goals.ttft) ++tally.within_goal;
  const bool moved = tracked.verdict == ShadowVerdict::kOtherReplica || tracked.verdict == ShadowVerdict::kEarlier;
  if (!moved || !tracked.placed) return;
  tally.gain += ((now - tracked.sent_at) + tracked.placed->expected_ttft - shadow.expected_ttft).seconds();
}

void ShadowTallies::CountFirst(const TrackedRequest& tracked, Instant now) {
  if (!forecasts_ || !tracked.placed) return;
  const double expected = tracked.placed->expected_ttft.seconds();
  const double observed = (now - tracked.placed_at).seconds();
  ++forecast_.compared;
  forecast_.expected += expected;
  forecast_.observed += observed;
  forecast_.absolute_error += std::abs(observed - expected);
}

void ShadowTallies::CountEnd(const TrackedRequest& tracked, const Service& service, bool refused) {
  if (!tracked.verdict) return;
  VerdictTally& tally = tallies_[static_cast<size_t>(*tracked.verdict)];
  std::string outcome = "refused";
  if (!refused) {
    outcome = service.on_time ? "on_time" : service.finished ? "late" : "failed";
    tally.on_time += service.on_time ? 1 : 0;
    tally.late += service.finished && !service.on_time ? 1 : 0;
    tally.failed += service.finished ? 0 : 1;
    tally.late_tokens += service.late + service.abandoned;
  }
  const auto shown = std::find_if(recent_.rbegin(), recent_.rend(), [&](const ShadowDifference& difference) {
    return difference.request == tracked.request.request.value();
  });
  if (shown != recent_.rend()) shown->outcome = outcome;
}

std::string ShadowTallies::ReplicaName(ReplicaId id) const {
  return id.value() < fleet_.replicas.size() ? fleet_.replicas[id.value()].name : "";
}

void ShadowTallies::Remember(const TrackedRequest& tracked, Instant now, std::optional<WaitReason> waits) {
  ShadowDifference difference;
  difference.number = next_number_++;
  difference.at = now;
  difference.verdict = *tracked.verdict;
  difference.request = tracked.request.request.value();
  difference.model = fleet_.models[tracked.request.model.value()].name;
  difference.service_class = fleet_.classes[tracked.request.service_class.value()].name;
  if (tracked.replica) difference.replica = ReplicaName(*tracked.replica);
  if (tracked.placed && forecasts_) {
    difference.expected_ttft = tracked.placed->expected_ttft.seconds();
    difference.peak_share = tracked.placed->peak_share;
  }
  if (tracked.refused) {
    difference.reason = std::string(TraitsOf(tracked.refused->reason).label);
  } else if (tracked.sent) {
    difference.shadow_replica = ReplicaName(tracked.sent->replica);
    if (forecasts_) {
      // Seconds from the present decision, so that both are comparable.
      difference.shadow_expected_ttft = (tracked.sent_at + tracked.sent->expected_ttft - now).seconds();
      difference.shadow_peak_share = tracked.sent->peak_share;
    }
  } else if (waits) {
    difference.reason = std::string(TraitsOf(*waits).label);
  }
  recent_.push_back(std::move(difference));
  if (recent_.size() > kRecent) recent_.pop_front();
}

void ShadowTallies::Show(ShadowReport& report) const {
  report.forecasts = forecasts_;
  report.verdicts = tallies_;
  report.forecast = forecast_;
  for (size_t i = 0; i < kShadowVerdicts; ++i) {
    report.compared += tallies_[i].requests;
    if (!kShadowVerdictTraits[i].differs) report.agreed += tallies_[i].requests;
  }
  report.recent.assign(recent_.rbegin(), recent_.rend());
}

}  // namespace penstock
