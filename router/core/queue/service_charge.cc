#include "router/core/queue/service_charge.h"

#include <algorithm>

namespace penstock {
namespace {

// Tokens per second: a replica that was never seen to decode has some pace.
constexpr double kLeastPace = 0.1;

}  // namespace

const ReplicaState* ServiceCharge::FirstServer(ModelId model) const {
  const std::vector<size_t>& servers = servers_.Of(model);
  return servers.empty() ? nullptr : &fleet_.replicas()[servers.front()];
}

double ServiceCharge::MemoryFor(const RequestState& request, double output, double seconds) const {
  const double tokens = request.arrived.prompt.AsDouble() + output / 2;
  const ReplicaState* server = FirstServer(request.arrived.model);
  double memory = 0;
  if (server != nullptr) {
    for (const PoolShare& share : server->spec().pools) memory += share.footprint.Expected(tokens);
  }
  return (memory > 0 ? memory : tokens) * seconds;
}

double ServiceCharge::Expected(const RequestState& request) const {
  const FairnessSpec& fairness = fleet_.spec().fairness;
  if (fairness.mode == FairnessMode::kNone) return 0;
  const double each = request.arrived.embedding ? 0 : forecasts_.ExpectedOutput(request);
  const double output = each * request.arrived.sequences;
  if (fairness.unit == ServiceUnit::kTokens) return request.arrived.prompt.AsDouble() + kOutputWeight * output;
  double seconds = 0;
  if (const ReplicaState* server = FirstServer(request.arrived.model)) {
    seconds = server->steps_model().PriceOfPrefill(0).Of(request.PrefillAfter(Tokens(0)));
    seconds += each / std::max(kLeastPace, forecasts_.PaceOf(*server).usual);
  }
  return MemoryFor(request, output, seconds);
}

double ServiceCharge::Used(const RequestState& request, const RequestClosed& closed, Instant now) const {
  if (!request.service.paid || closed.outcome == Outcome::kRejected) return 0;
  const Tokens prompt = closed.prompt > Tokens(0) ? closed.prompt : request.arrived.prompt;
  double output = closed.output.AsDouble();
  if (output == 0 && closed.outcome == Outcome::kFinished && !request.arrived.embedding) {
    output = forecasts_.ExpectedOutput(request) * request.arrived.sequences;
  }
  if (fleet_.spec().fairness.unit == ServiceUnit::kTokens) return prompt.AsDouble() + kOutputWeight * output;
  const bool held = request.phase != RequestPhase::kWaiting;
  return MemoryFor(request, output, held ? std::max(0.0, (now - request.running.dispatched).seconds()) : 0);
}

}  // namespace penstock
