#include "router/live/fleet/hang_patrol.h"

#include <algorithm>

#include "kvmodel/step_model.h"

namespace penstock {
namespace {

constexpr Duration kViewAge = Duration::Seconds(1);
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

Duration HangPatrol::HangsFor(ReplicaId replica, const ReplicaSpec& spec, const Observation& seen, Limits limits,
                              Instant now) {
  ViewAt(now);
  HangWatch& watch = watches_.try_emplace(replica, now).first->second;
  const HangWatch::Figures figures{seen.tokens, seen.preemptions, seen.running, seen.waiting, seen.kv_used_share};
  if (seen.tokens < 0) return Duration();
  HangWatch::Work work = WorkOf(replica, spec, now);
  work.running -= limits.silent;
  return watch.HangsFor(figures, work, limits.least, now);
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
