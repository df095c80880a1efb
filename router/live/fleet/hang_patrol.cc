#include "router/live/fleet/hang_patrol.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "kvmodel/step_model.h"
#include "router/live/fleet/notice.h"
#include "router/telemetry/engine_metrics.h"

namespace penstock {
namespace {

constexpr Duration kViewAge = Duration::Seconds(1);
constexpr Duration kFreshToken = Duration::Seconds(1);
// These bounds hold before the first step of an engine whose speed is a guess.
// The largest of the three explains an engine's silence.
constexpr double kGuess = 10;  // Times the guess.
constexpr Duration kGuessAtLeast = Duration::Seconds(15);
constexpr double kSlowestPrefill = 50;  // Tokens per second: a processor without a GPU.

}  // namespace

void HangPatrol::OnToken(ReplicaId replica, Instant then) {
  const auto found = watches_.find(replica);
  if (found != watches_.end()) found->second.OnToken(then);
}

bool HangPatrol::Excuses(ReplicaId replica, const absl::Status& poll, Instant now) const {
  const auto found = watches_.find(replica);
  return absl::IsDeadlineExceeded(poll) && found != watches_.end() && found->second.HeardSince(now - kFreshToken);
}

bool HangPatrol::FindsHang(WatchedReplica& watched, const ReplicaSpec& spec, const Observation& seen, Duration least) {
  const Instant now = Now();
  const Duration silence = HangsFor(watched, spec, seen, least, now);
  if (silence == Duration()) return false;
  LogWarning(control_.edge(), watched.config.id,
             absl::StrCat("engine answers polls but gave no sign of work for ", silence.seconds(), " s"));
  control_.edge().telemetry->engines().OnError(spec.name, EngineErrorKind::kHung);
  watched.health.OnHang(now);
  watched.notes->wants_answers.store(true, std::memory_order_relaxed);
  return true;
}

Duration HangPatrol::HangsFor(const WatchedReplica& watched, const ReplicaSpec& spec, const Observation& seen,
                              Duration least, Instant now) {
  ViewAt(now);
  HangWatch& watch = watches_.try_emplace(watched.id, now).first->second;
  const HangWatch::Figures figures{seen.tokens, seen.preemptions, seen.running, seen.waiting, seen.kv_used_share};
  if (seen.tokens < 0) return Duration();
  HangWatch::Work work;
  // Work that makes no tokens explains any silence.
  if (watched.notes->work_in_silence.load(std::memory_order_relaxed) == 0) work = WorkOf(watched.id, spec, now);
  work.running -= watched.notes->owe_nothing.load(std::memory_order_relaxed);
  return watch.HangsFor(figures, work, least, now);
}

const CoreView& HangPatrol::ViewAt(Instant now) {
  if (now - viewed_ >= kViewAge) {
    view_ = control_.edge().core->View();
    viewed_ = now;
    grey_.Tell(control_.edge(), view_);
  }
  return view_;
}

HangWatch::Work HangPatrol::WorkOf(ReplicaId replica, const ReplicaSpec& spec, Instant now) {
  HangWatch::Work work;
  if (replica.value() >= ViewAt(now).replicas.size()) return work;
  const ReplicaView& view = view_.replicas[replica.value()];
  // The view may be older than the replica.
  if (view.name != spec.name) return work;
  work.running = view.running;
  // A prompt that was computed stays in the books until its cache was handed over. Until then the decode engine owes
  // nothing.
  if (spec.role == EngineRole::kPrefill) work.running = view.prefilling;
  if (spec.role == EngineRole::kDecode) work.running -= view.prefilling;
  // The factor of a guessed prior moves with the first observed step.
  const bool known = spec.prior_known || view.step_factor != 1;
  const PrefillWork least = PrefillOf(Tokens(0), Tokens(1));
  const double alone =
      FirstTokenAlone(spec.prior, view.backlog == PrefillWork() ? least : view.backlog, spec.batch_budget);
  const double decode = view.tokens_per_s > 0 ? 1 / view.tokens_per_s : 0;
  if (known) {
    work.explained = Duration::Seconds(std::max(1.0, view.step_factor) * alone + decode);
  } else {
    const Duration slowest = Duration::Seconds(view.backlog.tokens.AsDouble() / kSlowestPrefill);
    work.explained = std::max({kGuessAtLeast, Duration::Seconds(kGuess * alone), slowest});
  }
  return work;
}

}  // namespace penstock
