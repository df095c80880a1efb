#include "router/telemetry/shadow_metrics.h"

#include <prometheus/text_serializer.h>

#include <sstream>
#include <utility>
#include <vector>

#include "router/telemetry/view_metrics.h"

namespace penstock {
namespace {

using Families = std::vector<prometheus::MetricFamily>;

prometheus::MetricFamily Single(const Metric& metric, double value) {
  prometheus::MetricFamily family = FamilyOf(metric);
  AddSample(family, {}, value);
  return family;
}

void AddVerdicts(const ShadowReport& report, Families& families) {
  prometheus::MetricFamily decisions = FamilyOf(MetricNamed("penstock_shadow_decisions_total"));
  prometheus::MetricFamily outcomes = FamilyOf(MetricNamed("penstock_shadow_outcomes_total"));
  prometheus::MetricFamily late = FamilyOf(MetricNamed("penstock_shadow_late_tokens_total"));
  prometheus::MetricFamily gain = FamilyOf(MetricNamed("penstock_shadow_gain_seconds"));
  prometheus::MetricFamily overfull = FamilyOf(MetricNamed("penstock_shadow_overfull_total"));
  for (size_t i = 0; i < kShadowVerdicts; ++i) {
    const VerdictTally& tally = report.verdicts[i];
    const std::string verdict(kShadowVerdictTraits[i].label);
    const auto add = [&](const char* outcome, int64_t count) {
      AddSample(outcomes, {{"outcome", outcome}, {"verdict", verdict}}, static_cast<double>(count));
    };
    AddSample(decisions, {{"verdict", verdict}}, static_cast<double>(tally.requests));
    AddSample(late, {{"verdict", verdict}}, tally.late_tokens);
    add("on_time", tally.on_time);
    add("late", tally.late);
    add("failed", tally.failed);
    if (!report.forecasts) continue;
    AddSample(gain, {{"verdict", verdict}}, tally.gain);
    AddSample(overfull, {{"verdict", verdict}}, static_cast<double>(tally.overfull));
  }
  for (prometheus::MetricFamily* family : {&decisions, &outcomes, &late, &gain, &overfull}) {
    if (!family->metric.empty()) families.push_back(std::move(*family));
  }
}

void AddCopies(const CounterfactualReport& copies, Families& families) {
  prometheus::MetricFamily requests = FamilyOf(MetricNamed("penstock_shadow_requests_total"));
  prometheus::MetricFamily tokens = FamilyOf(MetricNamed("penstock_shadow_tokens_total"));
  const std::pair<const char*, const ServiceSums*> runs[] = {
      {"real", &copies.ever[0]}, {"decides", &copies.ever[1]}, {"shadow", &copies.ever[2]}};
  for (const auto& [run, sums] : runs) {
    const auto add = [&, name = run](const char* result, int64_t count) {
      AddSample(requests, {{"result", result}, {"run", name}}, static_cast<double>(count));
    };
    add("on_time", sums->on_time);
    add("late", sums->requests - sums->on_time - sums->refused - sums->failed);
    add("refused", sums->refused);
    add("failed", sums->failed);
    AddSample(tokens, {{"kind", "active"}, {"run", run}}, sums->active);
    AddSample(tokens, {{"kind", "late"}, {"run", run}}, sums->late);
    AddSample(tokens, {{"kind", "abandoned"}, {"run", run}}, sums->abandoned);
  }
  families.push_back(std::move(requests));
  families.push_back(std::move(tokens));
  families.push_back(Single(MetricNamed("penstock_shadow_behind_seconds"), copies.behind));
}

}  // namespace

std::string ShadowMetricsText(const ShadowReport& report) {
  Families families;
  AddVerdicts(report, families);
  prometheus::MetricFamily first = FamilyOf(MetricNamed("penstock_shadow_first_token_seconds_total"));
  AddSample(first, {{"of", "expected"}}, report.forecast.expected);
  AddSample(first, {{"of", "observed"}}, report.forecast.observed);
  families.push_back(std::move(first));
  AddCopies(report.counterfactual, families);
  families.push_back(Single(MetricNamed("penstock_shadow_events_total"), static_cast<double>(report.events)));
  families.push_back(Single(MetricNamed("penstock_shadow_dropped_total"), static_cast<double>(report.dropped)));
  families.push_back(Single(MetricNamed("penstock_shadow_resets_total"), static_cast<double>(report.resets)));
  families.push_back(Single(MetricNamed("penstock_shadow_failed"), report.failed ? 1 : 0));
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return text.str();
}

}  // namespace penstock
