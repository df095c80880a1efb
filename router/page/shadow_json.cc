#include "router/page/shadow_json.h"

#include <algorithm>
#include <utility>

#include "router/page/json_writer.h"

namespace penstock {
namespace {

// A mean, unknown where nothing was counted.
std::optional<double> Mean(double sum, int64_t count) {
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

std::optional<double> OnlyIf(bool known, double value) { return known ? std::optional(value) : std::nullopt; }

void PutVerdicts(const ShadowReport& report, JsonWriter& json) {
  json.Begin("verdicts", '[');
  for (size_t i = 0; i < kShadowVerdicts; ++i) {
    const VerdictTally& tally = report.verdicts[i];
    const ShadowVerdictTraits& traits = kShadowVerdictTraits[i];
    json.Begin('{')
        .Put("verdict", traits.label)
        .Put("text", traits.text)
        .Put("differs", traits.differs)
        .Put("requests", tally.requests)
        .Put("on_time", tally.on_time)
        .Put("late", tally.late)
        .Put("failed", tally.failed)
        .Put("late_tokens", tally.late_tokens)
        .Put("gain_s", OnlyIf(report.forecasts, tally.gain))
        .Put("overfull", report.forecasts ? std::optional(tally.overfull) : std::nullopt)
        .Put("within_goal", report.forecasts ? std::optional(tally.within_goal) : std::nullopt)
        .End('}');
  }
  json.End(']');
}

void PutRun(const char* run, const std::string& policy, const ServiceSums& sums, double seconds, JsonWriter& json) {
  json.Begin('{')
      .Put("run", run)
      .Put("policy", policy)
      .Put("requests", sums.requests)
      .Put("on_time", sums.on_time)
      .Put("on_time_share", OnlyIf(sums.requests > 0, sums.OnTimeShare()))
      .Put("refused", sums.refused)
      .Put("failed", sums.failed)
      .Put("active_tokens", sums.active)
      .Put("late_tokens", sums.late)
      .Put("abandoned_tokens", sums.abandoned)
      .Put("active_per_s", OnlyIf(seconds > 0, sums.active / seconds))
      .Put("ttft_p50_s", sums.ttft.Quantile(0.5))
      .Put("ttft_p99_s", sums.ttft.Quantile(0.99))
      .End('}');
}

void PutCounterfactual(const ShadowReport& report, JsonWriter& json) {
  const CounterfactualReport& copies = report.counterfactual;
  json.Begin("counterfactual", '{')
      .Put("unavailable", copies.unavailable, 1024)
      .Put("seconds", copies.seconds)
      .Put("behind_s", copies.behind)
      .Put("left_out", copies.left_out)
      .Put("cut_off", copies.cut_off)
      .Put("drawn", copies.drawn)
      .Put("starts", copies.starts);
  json.Begin("runs", '[');
  PutRun("real", report.decides, copies.real, copies.seconds, json);
  PutRun("decides", report.decides, copies.decides, copies.seconds, json);
  PutRun("shadow", report.shadow, copies.shadow, copies.seconds, json);
  json.End(']');
  const bool any = copies.real.requests > 0;
  const bool enough = copies.real.requests >= CounterfactualReport::kEnough;
  json.Put("worth_on_time_share", OnlyIf(enough, copies.shadow.OnTimeShare() - copies.decides.OnTimeShare()))
      .Put("worth_active_per_s",
           OnlyIf(enough && copies.seconds > 0, (copies.shadow.active - copies.decides.active) / copies.seconds))
      .Put("model_error_on_time_share", OnlyIf(any, copies.decides.OnTimeShare() - copies.real.OnTimeShare()))
      .End('}');
}

void PutRecent(const ShadowReport& report, JsonWriter& json) {
  json.Begin("recent", '[');
  for (const ShadowDifference& difference : report.recent) {
    json.Begin('{')
        .Put("number", difference.number)
        .Put("age_s", report.made - difference.at)
        .Put("verdict", TraitsOf(difference.verdict).label)
        .Put("model", difference.model)
        .Put("class", difference.service_class)
        .Put("replica", difference.replica)
        .Put("shadow_replica", difference.shadow_replica)
        .Put("reason", difference.reason)
        .Put("expected_ttft_s", difference.expected_ttft)
        .Put("shadow_expected_ttft_s", difference.shadow_expected_ttft)
        .Put("peak_share", difference.peak_share)
        .Put("shadow_peak_share", difference.shadow_peak_share)
        .Put("outcome", difference.outcome)
        .End('}');
  }
  json.End(']');
}

}  // namespace

std::string ShadowJson(const PageFacts& facts) {
  JsonWriter json;
  json.Begin('{').Put("sequence", facts.sequence).Put("time", Milliseconds(facts.unix_seconds));
  json.Put("configured", facts.shadow.has_value());
  if (!facts.shadow) {
    json.End('}');
    return std::move(json).Take();
  }
  const ShadowReport& report = *facts.shadow;
  json.Put("decides", report.decides)
      .Put("shadow", report.shadow)
      .Put("forecasts", report.forecasts)
      .Put("seconds", report.seconds)
      .Put("compared", report.compared)
      .Put("agreed", report.agreed)
      .Put("agreement_share", Mean(static_cast<double>(report.agreed), report.compared))
      .Put("events", report.events)
      .Put("dropped_events", report.dropped)
      .Put("resets", report.resets)
      .Put("fleet_orders", report.fleet_orders)
      .Put("aborts", report.aborts);
  PutVerdicts(report, json);
  const ForecastCheck& forecast = report.forecast;
  json.Begin("forecast", '{')
      .Put("compared", forecast.compared)
      .Put("expected_ttft_s", Mean(forecast.expected, forecast.compared))
      .Put("observed_ttft_s", Mean(forecast.observed, forecast.compared))
      .Put("mean_error_s", Mean(forecast.absolute_error, forecast.compared))
      .End('}');
  PutCounterfactual(report, json);
  PutRecent(report, json);
  json.End('}');
  return std::move(json).Take();
}

}  // namespace penstock
