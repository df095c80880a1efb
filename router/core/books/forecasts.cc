#include "router/core/books/forecasts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "router/core/contract/vacancy.h"

namespace penstock {
namespace {

// Tokens; where neither the client nor the context bounds an output. The end of the output curves.
constexpr double kUnboundedOutput = 131'072;
// Fatal pools count a prompt at the upper end of its band, in standard errors: 95 % of prompts are shorter. Measured by
// bench/results/memory-safety.md.
constexpr double kUpperBand = 1.64;

}  // namespace

void Forecasts::Configure() {
  const std::vector<bool> vacant = VacantOf(fleet_.spec().models);
  if (!vacant.empty()) outputs_.Forget(vacant);
}

void Forecasts::Prepare(RequestState* request) {
  OutputState& output = request->output;
  output.known = knowledge_->OutputOf(request->arrived.request);
  output.known_in_growth = output.known && knowledge_->InGrowth();
  output.key = knowledge_->KeyOf(request->arrived);
  if (output.key.model == request->arrived.model) {
    output.key.base = fleet_.spec().models[request->arrived.model.value()].base;
  }
  OutputForecaster::Reading reading = outputs_.Read(output.key);
  output.curve = std::move(reading.curve);
  output.trial = std::move(reading.trial);
}

double Forecasts::ExpectedOutput(const RequestState& request) const {
  if (request.output.known) return request.output.known->AsDouble();
  constexpr double kNoCap = 1e9;
  const Tokens limit = request.arrived.max_output;
  return std::max(1.0, request.output.curve->MeanRemaining(0, limit > Tokens(0) ? limit.AsDouble() : kNoCap));
}

double Forecasts::CapOf(const RequestState& request, const ReplicaSpec& spec) {
  if (request.arrived.embedding) return 0;
  double cap = kUnboundedOutput;
  if (request.arrived.max_output > Tokens(0)) cap = (request.arrived.max_output - request.kept).AsDouble();
  if (spec.max_context > Tokens(0)) cap = std::min(cap, (spec.max_context - request.Prompt()).AsDouble());
  return std::max(1.0, cap);
}

double Forecasts::Admit(RequestState* request, const ReplicaState& replica) {
  OutputState& output = request->output;
  output.cap = CapOf(*request, replica.spec());
  output.counted = request->kept.value();
  double expected = 0;
  if (!request->arrived.embedding) {
    output.p50 = output.curve->Quantile(0.5);
    output.p90 = output.curve->Quantile(0.9);
    output.p99 = output.curve->Quantile(0.99);
    const double kept = request->kept.AsDouble();
    expected = output.curve->MeanRemaining(kept, kept + output.cap);
  }
  return output.known ? (*output.known - request->kept).AsDouble() : expected;
}

GrowthMember Forecasts::MemberOf(const RequestState& request, const ReplicaState& replica, const PoolShare& share,
                                 const DecodePace& pace, Instant now) const {
  GrowthMember member;
  member.footprint = share.footprint;
  // Tokens of an earlier replica are part of the output: its length is forecast given them.
  const double kept = request.kept.AsDouble();
  member.prompt = request.arrived.prompt.AsDouble();
  member.shared = (request.Running() ? request.running.shared : replica.SharedOf(request)).AsDouble();
  member.prompt_sigma = request.arrived.prompt_sigma;
  member.generated = kept + static_cast<double>(replica.streams().Generated(request));
  member.output_cap = kept + CapOf(request, replica.spec());
  member.sequences = request.arrived.sequences;
  member.pace = pace;
  if (request.phase == RequestPhase::kPrefilling) {
    member.starts_in = std::max(0.0, (request.running.first_expected - now).seconds());
  }
  member.curve = request.output.curve.get();
  if (request.output.known_in_growth) {
    member.curve = nullptr;
    member.output_cap = std::min(member.output_cap, request.output.known->AsDouble());
  }
  if (fleet_.pool(share.pool).spec().overflow_fatal) {
    member.prompt *= 1 + kUpperBand * request.arrived.prompt_sigma;
    member.shared = 0;
    if (!request.arrived.regenerable) member.curve = nullptr;
  }
  return member;
}

Tokens Forecasts::UnseenOutput(const RequestState& request) const {
  const RequestArrived& arrived = request.arrived;
  if (arrived.observed || arrived.embedding || request.phase != RequestPhase::kDecoding) return Tokens(0);
  Tokens each = request.kept + Tokens(fleet_.replica(request.running.replica).streams().Generated(request));
  if (arrived.max_output > Tokens(0)) each = std::min(each, arrived.max_output);
  return Tokens(each.value() * arrived.sequences);
}

void Forecasts::LearnFrom(RequestState* request, const RequestClosed& event, int64_t generated) {
  if (request->arrived.embedding || event.outcome != Outcome::kFinished) return;
  const OutputState& forecast = request->output;
  const int64_t counted = request->kept.value() + generated;
  const int64_t output = event.output > Tokens(0) ? event.output.value() / request->arrived.sequences : counted;
  if (output < 1) return;
  const Tokens length(output);
  if (output > forecast.counted) outputs_.Advance(forecast.key, Tokens(forecast.counted), length);
  if (!event.hit_limit) outputs_.Finish(forecast.key, length);
  if (forecast.trial != nullptr) outputs_.Judge(forecast.key, *forecast.trial, length, event.hit_limit);
  if (forecast.p50 <= 0 || request->kept > Tokens(0)) return;
  const double actual = length.AsDouble();
  const auto score = [&](double quantile, double q, int64_t& below, double& pinball) {
    const double bound = std::min(quantile, forecast.cap);
    if (actual <= bound) ++below;
    pinball += actual > bound ? q * (actual - bound) : (1 - q) * (bound - actual);
  };
  ++scores_.outputs_observed;
  score(forecast.p50, 0.5, scores_.outputs_below_p50, scores_.pinball_p50);
  score(forecast.p90, 0.9, scores_.outputs_below_p90, scores_.pinball_p90);
  score(forecast.p99, 0.99, scores_.outputs_below_p99, scores_.pinball_p99);
}

void Forecasts::Show(CoreView& view) const {
  CoreCounters& counters = view.counters;
  counters.outputs_observed = scores_.outputs_observed;
  counters.outputs_below_p50 = scores_.outputs_below_p50;
  counters.outputs_below_p90 = scores_.outputs_below_p90;
  counters.outputs_below_p99 = scores_.outputs_below_p99;
  counters.pinball_p50 = scores_.pinball_p50;
  counters.pinball_p90 = scores_.pinball_p90;
  counters.pinball_p99 = scores_.pinball_p99;
}

}  // namespace penstock
