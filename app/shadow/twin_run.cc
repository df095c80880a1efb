#include "app/shadow/twin_run.h"

#include <utility>
#include <variant>

namespace penstock {
namespace {

bench::SimulationOptions OptionsOf(uint64_t seed) {
  bench::SimulationOptions options;
  options.seed = seed;
  // The description is what the router believes already.
  options.step_error = 0;
  // Its end is never reached: rates are taken from single requests.
  options.window = Duration::Seconds(1e9);
  return options;
}

}  // namespace

TwinRun::TwinRun(bench::SimulatedFleetSpec spec, std::unique_ptr<AdmissionCore> core, uint64_t seed)
    : classes_(spec.fleet.classes), core_(std::move(core)), simulation_(std::move(spec), *core_, OptionsOf(seed)) {
  simulation_.Observe(
      [this](const Event& event, Instant now, const std::vector<Action>& actions) { See(event, now, actions); });
}

void TwinRun::SetHealth(size_t replica, Health health, Instant at) {
  bench::Occurrence kind = bench::Occurrence::kRises;
  if (health == Health::kDown) kind = bench::Occurrence::kDies;
  if (health == Health::kDraining) kind = bench::Occurrence::kDrains;
  simulation_.Schedule(at, kind, replica);
}

void TwinRun::See(const Event& event, Instant now, const std::vector<Action>& actions) {
  if (const auto* arrived = std::get_if<RequestArrived>(&event)) {
    open_[arrived->request] = {now, arrived->service_class, arrived->observed, std::nullopt};
  } else if (const auto* first = std::get_if<FirstToken>(&event)) {
    const auto found = open_.find(first->request);
    if (found != open_.end() && !found->second.first) found->second.first = now;
  } else if (const auto* closed = std::get_if<RequestClosed>(&event)) {
    End(closed->request, closed, now);
  }
  for (const Action& action : actions) {
    if (const auto* refuse = std::get_if<Refuse>(&action)) End(refuse->request, nullptr, now);
  }
}

void TwinRun::End(RequestId request, const RequestClosed* closed, Instant now) {
  const auto found = open_.find(request);
  if (found == open_.end()) return;
  const Open& open = found->second;
  ServiceTimes times{open.arrived, open.observed ? open.first : std::nullopt, now};
  if (closed != nullptr) {
    times.finished = closed->outcome == Outcome::kFinished;
    times.tokens = closed->output.value();
  }
  const ClassSpec& goals = classes_[open.service_class.value()];
  ended_.push_back({request.value(), ServiceOf(times, goals.ttft, goals.tpot), closed == nullptr});
  open_.erase(found);
}

}  // namespace penstock
