#include "router/kv_events/run_book.h"

#include <type_traits>
#include <utility>

namespace penstock {

void SeeRuns(const Event& event, Instant now, const std::vector<Action>& actions, std::vector<SeenAt>& seen) {
  std::visit(
      [&](const auto& concrete) {
        if constexpr (std::is_constructible_v<SeenRun, decltype(concrete)>) seen.push_back({concrete, now});
      },
      event);
  for (const Action& action : actions) {
    if (const auto* forward = std::get_if<Forward>(&action)) seen.push_back({*forward, now});
  }
}

RunBook::Change RunBook::Take(const SeenAt& seen) {
  if (const auto* arrived = std::get_if<RequestArrived>(&seen.what)) {
    if (arrived->embedding || runs_.size() >= kMostRuns) return {};
    EngineRun& run = runs_[arrived->request].run;
    run.request = arrived->request;
    run.prefix = arrived->prefix;
    run.body = arrived->body;
    run.plain = arrived->sequences == 1;
    return {};
  }
  RequestId request;
  if (const auto* forward = std::get_if<Forward>(&seen.what)) request = forward->request;
  if (const auto* requeued = std::get_if<RequestRequeued>(&seen.what)) request = requeued->request;
  if (const auto* closed = std::get_if<RequestClosed>(&seen.what)) request = closed->request;
  const auto found = runs_.find(request);
  if (found == runs_.end()) return {};
  Run& known = found->second;
  if (const auto* forward = std::get_if<Forward>(&seen.what)) {
    known.replica = forward->replica;
    known.run.dispatched = seen.at;
    return {Turn::kDispatched, forward->replica, known.run};
  }
  if (!known.replica) {
    if (std::holds_alternative<RequestClosed>(seen.what)) runs_.erase(found);
    return {};
  }
  Change change{Turn::kGone, *known.replica, known.run};
  if (const auto* closed = std::get_if<RequestClosed>(&seen.what)) {
    change.run.closed = seen.at;
    change.run.prompt = closed->prompt;
    change.run.output = closed->output;
    change.run.cached = closed->cached;
    const bool whole = closed->outcome == Outcome::kFinished && closed->prompt > Tokens(0);
    if (whole) change.turn = Turn::kClosed;
    runs_.erase(found);
    return change;
  }
  // The request goes on elsewhere, perhaps behind a part of its answer. Its length tells nothing then.
  known.replica.reset();
  known.run.plain = false;
  return change;
}

}  // namespace penstock
