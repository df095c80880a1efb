#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "bench/figures/results_json.h"
#include "bench/simulation/simulation_report.h"

namespace penstock::bench {
namespace {

using Json = nlohmann::ordered_json;

Json StatesOf(const GpuTime& time) {
  Json states = Json::object();
  for (size_t i = 0; i < kGpuStates; ++i) states[std::string(kGpuStateLabels[i])] = time.seconds[i];
  return states;
}

double ShareOf(const GpuTime& time) {
  const double total = time.total();
  return total > 0 ? time.on_time() / total : 0;
}

// The seconds of each kind of work while requests ran.
std::vector<std::pair<const char*, double>> WorkOf(const SimulationReport& report) {
  const StepTime& work = report.work;
  return {{"floor", work.floor},     {"decode", work.decode},       {"kv_reads", work.kv_reads},
          {"prefill", work.prefill}, {"recompute", work.recompute}, {"stall", work.stall},
          {"gaps", report.gaps}};
}

std::string WorkRow(const SimulationReport& report) {
  std::string text = absl::StrFormat("  %-24s", "seconds of work");
  for (const auto& [name, seconds] : WorkOf(report)) absl::StrAppendFormat(&text, " %s %.1f ", name, seconds);
  return text + "\n";
}

void AppendStates(const GpuTime& time, std::string* text) {
  for (const double spent : time.seconds) absl::StrAppendFormat(text, " %10.1f", spent);
}

// The states of each GPU as rows.
std::string GpuTable(const std::vector<std::pair<std::string, GpuTime>>& gpus) {
  GpuTime fleet;
  std::string rows;
  for (const auto& [gpu, time] : gpus) {
    fleet += time;
    absl::StrAppendFormat(&rows, "    %-22s", gpu);
    AppendStates(time, &rows);
    rows += "\n";
  }
  std::string text = absl::StrFormat("  %-24s %.4f GPU-hours, %.1f%% of the time; %.1f s without input\n", "productive",
                                     fleet.productive_hours(), 100 * ShareOf(fleet), fleet.waiting_for_input());
  absl::StrAppendFormat(&text, "  %-24s", "gpu seconds");
  for (const absl::string_view state : kGpuStateLabels) absl::StrAppendFormat(&text, " %10s", state);
  text += "\n" + rows;
  if (gpus.size() > 1) {
    absl::StrAppendFormat(&text, "    %-22s", "all");
    AppendStates(fleet, &text);
    text += "\n";
  }
  return text;
}

void AddGpuJson(const SimulationReport& report, Json& json) {
  json["gpu_seconds"] = Json::object();
  GpuTime fleet;
  for (const auto& [gpu, time] : report.gpu_time) {
    json["gpu_seconds"][gpu] = StatesOf(time);
    fleet += time;
  }
  json["gpu_time"] = {{"states", StatesOf(fleet)},
                      {"productive_gpu_hours", fleet.productive_hours()},
                      {"productive_share", ShareOf(fleet)},
                      {"short_of_memory_s", fleet.short_of_memory()},
                      {"waiting_for_input_s", fleet.waiting_for_input()}};
  for (const auto& [name, seconds] : WorkOf(report)) json["gpu_time"]["work"][name] = seconds;
}

Json StrandedJson(const SimulationReport& report) {
  Json pools = Json::object();
  for (const auto& [pool, stranded] : report.stranded) {
    pools[pool] = {{"mean_share", stranded.mean_share}, {"memory_wait_s", stranded.waited_seconds}};
  }
  return pools;
}

Json GreyJson(const SimulationReport& report) {
  Json replicas = Json::object();
  for (const auto& [name, grey] : report.grey) {
    Json& of = replicas[name] = {
        {"derate", grey.derate}, {"found_at_s", grey.found_at.seconds()}, {"found_after_steps", grey.found_after}};
    for (size_t i = 1; i < kGreyCauses; ++i) of["events"][GreyCauseName(static_cast<GreyCause>(i))] = grey.events[i];
  }
  return replicas;
}

// One line per pool whose requests waited for memory.
std::string StrandedTable(const SimulationReport& report) {
  std::string text;
  for (const auto& [pool, stranded] : report.stranded) {
    if (stranded.waited_seconds <= 0) continue;
    absl::StrAppendFormat(&text, "  %-24s %s: %.1f s of waits for memory, %.2f%% of it free for nobody\n",
                          "stranded KV", pool, stranded.waited_seconds, 100 * stranded.mean_share);
  }
  return text;
}

}  // namespace

std::string ReportJson(const SimulationReport& report) {
  Json json = ResultsAsJson(report.results);
  json["policy"] = report.policy;
  json["seed"] = report.seed;
  json["early_refusals"] = report.early_refusals;
  json["wrong_refusals"] = report.wrong_refusals ? Json(*report.wrong_refusals) : Json(nullptr);
  if (report.retries) {
    const SimulationReport::Retries& retries = *report.retries;
    json["retries"] = {{"offered", retries.offered}, {"served", retries.served}, {"on_time", retries.on_time}};
  }
  if (report.cost) {
    json["cost"] = {{"per_hour", report.cost->per_hour},
                    {"per_million_active_tokens", report.cost->per_million_active_tokens}};
  }
  if (report.orders) {
    const OrderCounts& orders = *report.orders;
    json["sleep"] = {
        {"sleeps", orders.sleeps}, {"wakes", orders.wakes}, {"failed", orders.failed}, {"asleep_s", orders.asleep}};
  }
  if (report.loads) json["adapters"] = {{"loads", report.loads->loads}, {"failed", report.loads->failed}};
  json["feasible"] = {{"offered", report.feasible_offered},
                      {"on_time_share", report.feasible_on_time_share},
                      {"worst_model_on_time_share", report.worst_model_share}};
  json["on_time_prompt_tokens_per_s"] = report.on_time_prompt_tokens_per_s;
  json["cached_prompt_tokens"] = report.cached_prompt_tokens;
  json["per_gpu"] = GroupsAsJson(report.per_gpu);
  json["fluid_bound_tokens_per_s"] = report.fluid_bound;
  json["hindsight_bound_tokens_per_s"] = report.hindsight_bound ? Json(*report.hindsight_bound) : Json(nullptr);
  json["loss"] = Json::object();
  for (const auto& [name, value] : report.loss) json["loss"][name] = value;
  AddGpuJson(report, json);
  json["stranded"] = StrandedJson(report);
  json["grey"] = GreyJson(report);
  json["decision_us"] = {
      {"p50", report.decision_us.p50}, {"p99", report.decision_us.p99}, {"max", report.decision_us_max}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string ReportTable(const SimulationReport& report) {
  std::string text = absl::StrFormat("  %-24s %s, seed %d\n", "policy", report.policy, report.seed);
  text += ResultsTable(report.results);
  text += GroupsTable("gpu", report.per_gpu);
  absl::StrAppendFormat(&text, "  %-24s %d", "early refusals", report.early_refusals);
  if (report.wrong_refusals) absl::StrAppendFormat(&text, ", %d of them wrong", *report.wrong_refusals);
  text += "\n";
  if (report.retries) {
    absl::StrAppendFormat(&text, "  %-24s %d, %d served, %d on time\n", "retries", report.retries->offered,
                          report.retries->served, report.retries->on_time);
  }
  if (report.cost) {
    absl::StrAppendFormat(&text, "  %-24s %.2f an hour, %.3f per million active tokens\n", "cost",
                          report.cost->per_hour, report.cost->per_million_active_tokens);
  }
  if (report.orders) {
    absl::StrAppendFormat(&text, "  %-24s %d, %d wakes, %d failed, %.0f s asleep\n", "sleeps", report.orders->sleeps,
                          report.orders->wakes, report.orders->failed, report.orders->asleep);
  }
  if (report.loads) {
    absl::StrAppendFormat(&text, "  %-24s %d, %d failed\n", "adapter loads", report.loads->loads, report.loads->failed);
  }
  absl::StrAppendFormat(&text, "  %-24s %.2f%% of %d, worst model %.2f%%\n", "feasible on time",
                        100 * report.feasible_on_time_share, report.feasible_offered, 100 * report.worst_model_share);
  absl::StrAppendFormat(&text, "  %-24s %.1f tokens/s", "fluid bound", report.fluid_bound);
  if (report.hindsight_bound) absl::StrAppendFormat(&text, ", in hindsight %.1f", *report.hindsight_bound);
  text += "\n";
  absl::StrAppendFormat(&text, "  %-24s", "tokens/s of the roofline");
  for (const auto& [name, value] : report.loss) absl::StrAppendFormat(&text, " %s %.0f ", name, value);
  text += "\n" + GpuTable(report.gpu_time) + WorkRow(report) + StrandedTable(report);
  for (const auto& [name, value] : report.results.forecast) {
    if (!std::isnan(value)) absl::StrAppendFormat(&text, "  %-24s %.4g\n", name, value);
  }
  absl::StrAppendFormat(&text, "  %-24s p50 %.2f  p99 %.2f  max %.0f\n", "decision us", report.decision_us.p50,
                        report.decision_us.p99, report.decision_us_max);
  return text;
}

}  // namespace penstock::bench
