#include "app/simulate/shadow_run.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_format.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

// Virtual time between two advances of the copies.
constexpr Duration kCopyPeriod = Duration::Seconds(1);

std::string Seconds(std::optional<double> value) { return value ? absl::StrFormat("%.2f s", *value) : "-"; }

std::string RunLine(const std::string& name, double on_time, double active, std::optional<double> p50,
                    std::optional<double> p99) {
  return absl::StrFormat("    %-36s %6.2f %% on time %9.1f active tok/s   TTFT p50 %s, p99 %s\n", name, 100 * on_time,
                         active, Seconds(p50), Seconds(p99));
}

std::string CopyLine(const std::string& name, const ServiceSums& sums, double window) {
  return RunLine(name, sums.OnTimeShare(), sums.active / window, sums.ttft.Quantile(0.5), sums.ttft.Quantile(0.99));
}

std::string TruthLine(const std::string& name, const bench::SimulationReport& report) {
  std::optional<double> p50;
  std::optional<double> p99;
  if (report.results.ttft_s) {
    p50 = report.results.ttft_s->p50;
    p99 = report.results.ttft_s->p99;
  }
  return RunLine(name, report.results.on_time_share, report.results.active_tokens_per_s, p50, p99);
}

Json JsonOf(const ServiceSums& sums, double window) {
  return {{"requests", sums.requests},
          {"on_time_share", sums.OnTimeShare()},
          {"active_tokens_per_s", sums.active / window},
          {"refused", sums.refused},
          {"failed", sums.failed}};
}

Json JsonOf(const bench::SimulationReport& report) {
  return {{"on_time_share", report.results.on_time_share}, {"active_tokens_per_s", report.results.active_tokens_per_s}};
}

}  // namespace

absl::StatusOr<ShadowOutcome> RunWithShadow(const SimulationSetup& setup,
                                            const std::vector<bench::SimulatedArrival>& arrivals,
                                            const SimulationRun& run, const std::string& shadow) {
  const AdmissionCore* in_charge = nullptr;
  Instant newest;
  auto beside = PolicyShadow::Create({run.policy, shadow, run.seed, [&in_charge, &newest] {
                                        return in_charge != nullptr ? in_charge->View(newest) : CoreView();
                                      }});
  if (!beside.ok()) return beside.status();
  SimulationRun watched = run;
  watched.count_wrong = false;
  watched.on_core = [&in_charge](const AdmissionCore* core) { in_charge = core; };
  const auto always = [] { return true; };
  watched.observer = [&, worked = Instant()](const Event& event, Instant now,
                                             const std::vector<Action>& actions) mutable {
    newest = now;
    (*beside)->Take(event, now, actions);
    if (run.observer) run.observer(event, now, actions);
    if (now - worked < kCopyPeriod) return;
    worked = now;
    (*beside)->Work(now, always);
  };
  absl::StatusOr<bench::SimulationReport> real = RunSimulation(setup, arrivals, watched);
  if (!real.ok()) return real.status();
  // The copies end what they have.
  for (int minute = 0; minute < 60; ++minute) {
    newest = newest + Duration::Seconds(60);
    (*beside)->Work(newest, always);
  }
  SimulationRun alone = run;
  alone.observer = nullptr;
  alone.count_wrong = false;
  alone.policy = shadow;
  absl::StatusOr<bench::SimulationReport> truth = RunSimulation(setup, arrivals, alone);
  if (!truth.ok()) return truth.status();
  return ShadowOutcome{(*beside)->Report(newest), run.window.seconds(), *std::move(real), *std::move(truth)};
}

std::string ShadowTable(const ShadowOutcome& outcome) {
  const ShadowReport& report = outcome.report;
  const double share =
      report.compared == 0 ? 0 : static_cast<double>(report.agreed) / static_cast<double>(report.compared);
  std::string text = absl::StrFormat("  shadow %s beside %s: %d decisions compared, %.1f %% agree\n", report.shadow,
                                     report.decides, report.compared, 100 * share);
  for (size_t i = 0; i < kShadowVerdicts; ++i) {
    const VerdictTally& tally = report.verdicts[i];
    if (tally.requests == 0) continue;
    absl::StrAppendFormat(&text, "    %-14s %7d requests, really %d on time, %d late, %d failed, %.0f late tokens",
                          kShadowVerdictTraits[i].label, tally.requests, tally.on_time, tally.late, tally.failed,
                          tally.late_tokens);
    if (report.forecasts && tally.gain != 0) {
      absl::StrAppendFormat(&text, ", first tokens %.3f s earlier on average by its forecast",
                            tally.gain / static_cast<double>(tally.requests));
    }
    text += "\n";
  }
  const CounterfactualReport& copies = report.counterfactual;
  if (!copies.unavailable.empty()) return text + "  no simulated copies: " + copies.unavailable + "\n";
  absl::StrAppendFormat(
      &text, "  on simulated copies of the fleet, %d requests (%d lengths drawn, %d left out, %d cut off):\n",
      copies.real.requests, copies.drawn, copies.left_out, copies.cut_off);
  text += CopyLine(report.decides + ", as it was", copies.real, outcome.window);
  text += CopyLine(report.decides + ", on the copy", copies.decides, outcome.window);
  text += CopyLine(report.shadow + ", on the copy", copies.shadow, outcome.window);
  text += TruthLine(report.shadow + ", a run of its own", outcome.truth);
  absl::StrAppendFormat(&text, "    the estimate of %s is %+.2f points on time from its own run\n", report.shadow,
                        100 * outcome.OnTimeError());
  return text;
}

std::string ShadowOutcomeJson(const ShadowOutcome& outcome) {
  const ShadowReport& report = outcome.report;
  Json verdicts = Json::object();
  for (size_t i = 0; i < kShadowVerdicts; ++i) {
    const VerdictTally& tally = report.verdicts[i];
    verdicts[std::string(kShadowVerdictTraits[i].label)] = {
        {"requests", tally.requests}, {"on_time", tally.on_time},         {"late", tally.late},
        {"failed", tally.failed},     {"late_tokens", tally.late_tokens}, {"gain_s", tally.gain}};
  }
  const CounterfactualReport& copies = report.counterfactual;
  const Json json = {{"decides", report.decides},
                     {"shadow", report.shadow},
                     {"compared", report.compared},
                     {"agreed", report.agreed},
                     {"verdicts", verdicts},
                     {"unavailable", copies.unavailable},
                     {"drawn", copies.drawn},
                     {"left_out", copies.left_out},
                     {"real", JsonOf(copies.real, outcome.window)},
                     {"decides_on_copy", JsonOf(copies.decides, outcome.window)},
                     {"shadow_on_copy", JsonOf(copies.shadow, outcome.window)},
                     {"shadow_alone", JsonOf(outcome.truth)}};
  return json.dump();
}

}  // namespace penstock
