#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
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
#include "app/simulate/fleet_plan.h"
#include "app/simulate/html_report.h"
#include "app/simulate/output_file.h"
#include "app/simulate/run_series.h"
#include "app/simulate/shadow_run.h"
#include "app/simulate/simulation_setup.h"
#include "bench/simulation/capacity_search.h"
#include "bench/simulation/fluid_bound.h"
#include "config/config.h"
#include "config/text/findings.h"
#include "config/values/policy_pair.h"
#include "router/core/contract/event_log.h"

namespace penstock {
namespace {

int Print(const std::string& text) {
  std::cout << text << std::flush;
  return std::cout.good() ? 0 : 1;
}

// The share of a search that is done, by the calls that its present bounds leave.
class SearchShare {
 public:
  explicit SearchShare(const bench::CapacitySearch& search) : search_(search) {}
  void Note(double rate, bool carried) {
    ++calls_;
    if (carried) low_ = std::max(low_, rate);
    if (!carried) high_ = high_ > 0 ? std::min(high_, rate) : rate;
  }
  double share() const {
    // A doubling, where the answer is not enclosed yet.
    const double ratio = low_ > 0 && high_ > 0 ? high_ / low_ : 2;
    double left = low_ > 0 && high_ > 0 ? 0 : 1;
    left += std::max(0.0, std::ceil(std::log2(std::log(ratio) / std::log1p(search_.tolerance))));
    return calls_ / (calls_ + left);
  }

 private:
  const bench::CapacitySearch& search_;
  double calls_ = 0;
  double low_ = 0;
  double high_ = 0;
};

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
  const auto arrivals = bench::ArrivalsOf(trace, setup.model_of, setup.class_of, setup.tenant_of);
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

absl::StatusOr<bench::Trace> OpenAt(const SimulateOptions& options, double rate) {
  absl::StatusOr<bench::Trace> trace =
      bench::OpenTrace(options.trace, {rate, options.duration, options.from}, options.seed);
  if (trace.ok() && trace->requests.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(options.trace, ": no request arrives in the window asked for"));
  }
  return trace;
}

int RunOnce(const SimulateOptions& options, const Config& config, const SimulationSetup& setup) {
  const absl::StatusOr<bench::Trace> trace = OpenAt(options, options.rate);
  if (!trace.ok()) return Fail("simulate", trace.status().message());
  ProgressLine line;
  SimulationRun run;
  run.count_wrong = true;
  run.retry = options.retry;
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

// The rate beyond which no router could keep that share on time, by GPU time alone.
double BoundOfCarried(const SimulateOptions& options, const SimulationSetup& setup, bench::CapacitySearch search,
                      double carried) {
  search.start = carried;
  return bench::HighestRate(search, [&](double rate) {
    const absl::StatusOr<bench::Trace> trace = OpenAt(options, rate);
    if (!trace.ok()) return 0.0;
    const auto arrivals = bench::ArrivalsOf(*trace, setup.model_of, setup.class_of, setup.tenant_of);
    return arrivals.ok() ? bench::FluidOnTimeBound(setup.spec, *arrivals, trace->length) : 0.0;
  });
}

int RunCarried(const SimulateOptions& options, const Config& config, const SimulationSetup& setup) {
  ProgressLine line;
  absl::Status failure;
  bench::CapacitySearch search;
  SearchShare searched(search);
  search.on_time = options.on_time;
  search.start = options.rate;
  SimulationRun by_on_time;
  by_on_time.most_on_time = true;
  const double carried = bench::HighestRate(search, [&](double rate) {
    if (!failure.ok()) return 0.0;
    const absl::StatusOr<bench::Trace> trace = OpenAt(options, rate);
    absl::StatusOr<bench::SimulationReport> report =
        trace.ok() ? RunAt(options, config, setup, *trace, by_on_time) : trace.status();
    failure = report.status();
    if (failure.ok() && report->feasible_offered == 0) {
      failure = absl::InvalidArgumentError(
          absl::StrCat(options.trace, ": even an idle fleet makes no request's first token in time"));
    }
    if (!failure.ok()) return 0.0;
    const double share = report->feasible_on_time_share;
    searched.Note(rate, share >= search.on_time);
    line.Show(absl::StrFormat("rate %.4f: %.2f%% on time", rate, 100 * share), searched.share());
    return share;
  });
  const double bound = failure.ok() && carried > 0 ? BoundOfCarried(options, setup, search, carried) : carried;
  line.Clear();
  if (!failure.ok()) return Fail("simulate", failure.message());
  const std::string policy = PolicyOf(options, config);
  // Beyond the bound nothing was tried.
  const bool at_least = 2 * carried > search.highest;
  if (!options.json) {
    return Print(
        absl::StrFormat("%s carries rate %s%.4f with %.4g%% of feasible requests on time (GPU time allows %.4f)\n",
                        policy, at_least ? "at least " : "", carried, 100 * options.on_time, bound));
  }
  const nlohmann::ordered_json json = {
      {"carried", carried}, {"at_least", at_least}, {"policy", policy}, {"on_time", options.on_time}, {"bound", bound}};
  return Print(json.dump() + "\n");
}

// No policy of the list: it exists in the simulation only.
constexpr char kYardstick[] = "clairvoyant";

// The error of a policy that nothing implements; a wrong setting is found later.
std::string UnknownPolicy(const std::string& text) {
  const std::string name = text.substr(0, text.find(':'));
  const std::vector<std::string> known = CheckOfKnownPolicies().names;
  if (name.empty() || name == kYardstick || absl::c_linear_search(known, name)) return "";
  return absl::StrCat("unknown policy \"", name, "\"", Suggestion(name, {known.begin(), known.end()}),
                      ", known: ", absl::StrJoin(known, " "));
}

int RunPlan(const SimulateOptions& options, const Config& config) {
  const absl::StatusOr<bench::Trace> trace = OpenAt(options, options.rate);
  if (!trace.ok()) return Fail("simulate", trace.status().message());
  PlanRequest request;
  request.policy = PolicyOf(options, config);
  request.on_time = options.on_time;
  request.seed = options.seed;
  ProgressLine line;
  request.progress = [&line](const std::string& tried, double share) { line.Show(tried, share); };
  const std::vector<std::string> kinds = absl::StrSplit(options.gpu, ',', absl::SkipWhitespace());
  const absl::StatusOr<PlanComparison> plan = ComparePlans(config, *trace, request, kinds);
  line.Clear();
  if (!plan.ok()) return Fail("simulate", plan.status().message());
  return Print(options.json ? PlanJson(*plan, request) + "\n" : PlanTable(*plan));
}

}  // namespace

int RunSimulate(const SimulateOptions& options) {
  const absl::StatusOr<Config> config = LoadCheckedConfig(options.config_file);
  if (!config.ok()) {
    std::cerr << config.status().message() << "\n";
    return 1;
  }
  for (const std::string& policy : {options.policy, options.shadow}) {
    if (const std::string unknown = UnknownPolicy(policy); !unknown.empty()) return Fail("simulate", unknown);
  }
  if (options.shadow == kYardstick) return Fail("simulate", "--shadow: clairvoyant knows the future, and is no shadow");
  if (options.plan) return RunPlan(options, *config);
  const absl::StatusOr<SimulationSetup> setup = SetUpSimulation(*config);
  if (!setup.ok()) return Fail("simulate", setup.status().message());
  return options.carried ? RunCarried(options, *config, *setup) : RunOnce(options, *config, *setup);
}

}  // namespace penstock
