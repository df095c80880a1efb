#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "app/commands.h"
#include "app/load_config.h"
#include "app/process.h"
#include "app/progress_line.h"
#include "app/simulate/carried_search.h"
#include "app/simulate/fleet_plan.h"
#include "app/simulate/html_report.h"
#include "app/simulate/output_file.h"
#include "app/simulate/run_series.h"
#include "app/simulate/shadow_run.h"
#include "app/simulate/simulation_setup.h"
#include "base/harmless.h"
#include "config/config.h"
#include "config/text/findings.h"
#include "config/values/policy_pair.h"
#include "router/core/contract/event_log.h"
#include "router/policies/variants/penstock_variants.h"

namespace penstock {
namespace {

int Print(const std::string& text) {
  std::cout << text << std::flush;
  return std::cout.good() ? 0 : 1;
}

std::string PolicyOf(const SimulateOptions& options, const Config& config) {
  return options.policy.empty() ? PolicyPairOf(config.policy).decide : options.policy;
}

// Empty: none.
std::string ShadowOf(const SimulateOptions& options, const Config& config) {
  if (!options.shadow.empty() || !options.policy.empty()) return options.shadow;
  return PolicyPairOf(config.policy).shadow;
}

// With `beside`, a shadow runs too, and fills it in.
absl::StatusOr<bench::SimulationReport> RunAt(const SimulateOptions& options, const Config& config,
                                              const SimulationSetup& setup, const bench::Trace& trace,
                                              SimulationRun run, std::optional<ShadowOutcome>* beside = nullptr) {
  const auto arrivals = bench::ArrivalsOf(trace, setup.model_of, setup.class_of, setup.tenant_of, setup.storage_of);
  if (!arrivals.ok()) return arrivals.status();
  run.policy = PolicyOf(options, config);
  run.seed = options.seed;
  run.window = trace.length;
  const std::string shadow = ShadowOf(options, config);
  if (beside == nullptr || shadow.empty()) return RunSimulation(setup, *arrivals, run);
  absl::StatusOr<ShadowOutcome> outcome = RunWithShadow(setup, *arrivals, run, shadow);
  if (!outcome.ok()) return outcome.status();
  bench::SimulationReport real = outcome->real;
  *beside = *std::move(outcome);
  return real;
}

std::string OutputOf(const SimulateOptions& options, const bench::SimulationReport& report,
                     const std::optional<ShadowOutcome>& beside) {
  if (!options.json) return bench::ReportTable(report) + (beside ? ShadowTable(*beside) : "");
  std::string json = bench::ReportJson(report);
  if (beside) {
    json.pop_back();
    absl::StrAppend(&json, ",\"shadow\":", ShadowOutcomeJson(*beside), "}");
  }
  return json + "\n";
}

int RunOnce(const SimulateOptions& options, const Config& config, const SimulationSetup& setup) {
  const absl::StatusOr<bench::Trace> trace =
      OpenWindow(options.trace, {options.rate, options.duration, options.from}, options.seed);
  if (!trace.ok()) return Fail("simulate", trace.status().message());
  ProgressLine line;
  SimulationRun run;
  run.count_wrong = run.bounds = true;
  run.retry = options.retry;
  run.prompt_bias = options.prompt_bias;
  run.one_pool = options.one_pool;
  const auto offered = static_cast<double>(std::max<size_t>(1, trace->requests.size()));
  // The second run counts the wrong refusals; it is left out where there are no early ones.
  run.progress = [&line, offered, at_last = Duration(), runs = 0.0](Duration at, int64_t ended) mutable {
    if (at < at_last) runs = 1;
    at_last = at;
    line.Show(absl::StrFormat("%.0f s simulated", at.seconds()), (runs + static_cast<double>(ended) / offered) / 2);
  };
  OutputFile file;
  RunSeries series(setup.spec.fleet, trace->length);
  if (const std::string& path = options.html_file.empty() ? options.log_file : options.html_file; !path.empty()) {
    const absl::Status opened = file.Open(path, {options.trace, options.config_file});
    if (!opened.ok()) return Fail("simulate", opened.message());
  }
  if (!options.html_file.empty()) {
    run.observer = [&series](const Event& event, Instant now, const std::vector<Action>& actions) {
      series.Take(event, now, actions);
    };
  } else if (file.is_open()) {
    run.observer = [&log = file](const Event& event, Instant now, const std::vector<Action>& actions) {
      log.stream() << "event " << FormatEvent(now, event) << "\n";
      for (const Action& action : actions) log.stream() << "action " << FormatAction(now, action) << "\n";
    };
  }
  std::optional<ShadowOutcome> beside;
  const absl::StatusOr<bench::SimulationReport> report = RunAt(options, config, setup, *trace, run, &beside);
  line.Clear();
  if (!report.ok()) return Fail("simulate", report.status().message());
  if (!options.html_file.empty()) {
    std::vector<RunSeries::Slice> slices = series.Slices();
    for (size_t i = 0; i < std::min(slices.size(), report->stranded_series.size()); ++i) {
      slices[i].stranded_memory = report->stranded_series[i];
    }
    file.stream() << HtmlOf({absl::StrCat(options.config_file, ", ", options.trace, ", ", report->policy),
                             bench::ReportTable(*report), series.slice_length(), std::move(slices)});
  }
  if (file.is_open()) {
    if (const absl::Status kept = file.Keep(); !kept.ok()) return Fail("simulate", kept.message());
  }
  return Print(OutputOf(options, *report, beside));
}

CarriedRequest CarriedRequestOf(const SimulateOptions& options, const Config& config) {
  CarriedRequest request;
  request.trace = options.trace;
  request.window = {options.rate, options.duration, options.from};
  request.policy = PolicyOf(options, config);
  request.seed = options.seed;
  request.seeds = options.seeds;
  request.shift = options.shift;
  request.prompt_bias = options.prompt_bias;
  request.on_time = options.on_time;
  return request;
}

int RunCarried(const SimulateOptions& options, const Config& config, const SimulationSetup& setup) {
  ProgressLine line;
  CarriedRequest request = CarriedRequestOf(options, config);
  request.progress = [&line](double rate, double share, double done) {
    line.Show(absl::StrFormat("rate %.4f: %.2f%% on time", rate, 100 * share), done);
  };
  const absl::StatusOr<CarriedLoad> load = FindCarriedLoad(setup, request);
  line.Clear();
  if (!load.ok()) return Fail("simulate", load.status().message());
  return Print(options.json ? CarriedJson(*load, request) : CarriedText(*load, request));
}

// The error of a policy that nothing implements; a wrong setting is found later.
std::string UnknownPolicy(const std::string& text) {
  const std::string name = text.substr(0, text.find(':'));
  const std::vector<std::string> known = CheckOfKnownPolicies().names;
  // The yardstick is none of the list: it exists in the simulation only.
  if (name.empty() || IsYardstick(name) || absl::c_linear_search(known, name)) return "";
  return absl::StrCat("unknown policy \"", name, "\"", Suggestion(name, {known.begin(), known.end()}),
                      ", known: ", absl::StrJoin(known, " "));
}

// One plan for each seed. Each has a window that begins later by `shift`.
absl::StatusOr<std::vector<PlanComparison>> PlansOf(const SimulateOptions& options, const Config& config,
                                                    PlanRequest request) {
  const std::vector<std::string> kinds = absl::StrSplit(options.gpu, ',', absl::SkipWhitespace());
  if (kinds.empty()) return absl::InvalidArgumentError("--gpu names no kind of GPU");
  std::vector<PlanComparison> plans;
  bench::TraceWindow window = {options.rate, options.duration, options.from};
  for (int i = 0; i < options.seeds; ++i) {
    const absl::StatusOr<bench::Trace> trace = OpenWindow(options.trace, window, request.seed);
    if (!trace.ok()) return trace.status();
    absl::StatusOr<PlanComparison> plan = ComparePlans(config, *trace, request, kinds);
    if (!plan.ok()) return plan.status();
    plans.push_back(*std::move(plan));
    ++request.seed;
    window.from = window.from + options.shift;
  }
  return plans;
}

int RunPlan(const SimulateOptions& options, const Config& config) {
  PlanRequest request;
  request.policy = PolicyOf(options, config);
  request.on_time = options.on_time;
  request.seed = options.seed;
  ProgressLine line;
  request.progress = [&line](const std::string& tried, double share) { line.Show(tried, share); };
  absl::StatusOr<std::vector<PlanComparison>> plans = PlansOf(options, config, request);
  line.Clear();
  if (!plans.ok()) return Fail("simulate", plans.status().message());
  const PlanComparison plan = MedianPlan(*std::move(plans));
  return Print(options.json ? PlanJson(plan, request) + "\n" : PlanTable(plan));
}

}  // namespace

int RunSimulate(const SimulateOptions& options) {
  const absl::StatusOr<Config> config = LoadCheckedConfig(options.config_file);
  if (!config.ok()) {
    std::cerr << Harmless(config.status().message(), "\n") << "\n";
    return 1;
  }
  for (const std::string& policy : {options.policy, options.shadow}) {
    if (const std::string unknown = UnknownPolicy(policy); !unknown.empty()) return Fail("simulate", unknown);
  }
  if (IsYardstick(options.shadow)) return Fail("simulate", "--shadow: informed knows the future, and is no shadow");
  if (options.plan) return RunPlan(options, *config);
  const absl::StatusOr<SimulationSetup> setup = SetUpSimulation(*config);
  if (!setup.ok()) return Fail("simulate", setup.status().message());
  return options.carried ? RunCarried(options, *config, *setup) : RunOnce(options, *config, *setup);
}

}  // namespace penstock
