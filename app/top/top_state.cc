#include "app/top/top_state.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "app/top/top_text.h"
#include "base/harmless.h"

namespace penstock::top {
namespace {

using Json = nlohmann::json;

// Larger figures are none of a router's.
constexpr double kMostShown = 1e18;

std::string TextOf(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? std::string() : Harmless(found->get<std::string>());
}
// Null and absent: `otherwise`.
double NumberOf(const Json& object, const char* name, double otherwise = 0) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return otherwise;
  // A router that lies moves no column.
  return std::clamp(found->get<double>(), -kMostShown, kMostShown);
}

Cell Text(std::string text) { return {text.empty() ? "-" : std::move(text), 0}; }
Cell Count(double number) { return {Short(number), number}; }
Cell Seconds(double seconds) { return {Span(seconds), seconds}; }

double LastOf(const Json& list) { return list.empty() ? 0 : list.back().get<double>(); }

void AddPart(const Json& part, const std::map<std::string, const Json*>& pools, std::set<std::string>& seen,
             GpuBar& bar) {
  bar.weights += NumberOf(part, "weights_bytes");
  const std::string name = part.at("pool").get<std::string>();
  const auto found = pools.find(name);
  if (found == pools.end() || !seen.insert(name).second) return;
  const Json& pool = *found->second;
  if (pool.at("unit") != "bytes") return;
  const double capacity = NumberOf(pool, "capacity");
  const double held = std::min(capacity, NumberOf(pool, "held") + NumberOf(pool, "draining"));
  const double promised = std::clamp(NumberOf(pool, "promised"), held, capacity);
  bar.held += held;
  bar.promised += promised - held;
  bar.room += capacity - promised;
}

std::vector<GpuBar> GpusOf(const Json& fleet) {
  std::map<std::string, const Json*> pools;
  for (const Json& pool : fleet.at("pools")) pools[pool.at("name").get<std::string>()] = &pool;
  std::vector<GpuBar> bars;
  for (const Json& gpu : fleet.at("gpus")) {
    GpuBar bar;
    bar.name = TextOf(gpu, "id");
    bar.kind = TextOf(gpu, "kind");
    bar.memory = NumberOf(gpu, "memory_bytes");
    std::set<std::string> seen;
    for (const Json& part : gpu.at("parts")) AddPart(part, pools, seen, bar);
    bars.push_back(std::move(bar));
  }
  return bars;
}

// A replica that answers, in words: the first of its troubles, by its own steps or by the exporters of its node.
struct Condition {
  std::string text;
  bool bad = false;
};
Condition ConditionOf(const Json& replica) {
  const double derate = NumberOf(replica, "derate", 1);
  const double by_node = NumberOf(replica, "node_derate", 1);
  const double storage = NumberOf(replica, "storage_pressure");
  if (replica.value("stalled", false)) return {"stands still", true};
  if (replica.value("node_closed", false)) return {"node closed", true};
  if (derate > 1) return {absl::StrFormat("%.1fx slow", derate)};
  if (by_node > 1) return {absl::StrFormat("node %.1fx", by_node)};
  if (storage >= 0.5) return {absl::StrFormat("disk %.0f%%", 100 * storage)};
  return {};
}

Table ReplicasOf(const Json& fleet) {
  Table table{"Replicas", "No replica.", {}, {}};
  table.columns = {{"REPLICA", 12},    {"HEALTH", 12}, {"RUN", 5, true},  {"STEP", 7, true},   {"PACE", 5, true},
                   {"TOK/S", 6, true}, {"MODEL", 18},  {"PREF", 5, true}, {"PREEMPT", 8, true}};
  for (const Json& replica : fleet.at("replicas")) {
    const std::string health = TextOf(replica, "health");
    const std::string residency = TextOf(replica, "residency");
    const bool awake = residency == "awake" || health == "down";
    const std::string role = replica.value("role", "both") == "both" ? "" : ", " + TextOf(replica, "role");
    const Condition condition = awake && health == "up" ? ConditionOf(replica) : Condition();
    const double step = NumberOf(replica, "observed_step_s", -1);
    const double pace = NumberOf(replica, "pace", 1);
    Row row;
    row.cells = {Text(TextOf(replica, "name")),
                 Text(!condition.text.empty() ? condition.text
                      : awake                 ? health + (health == "up" ? role : "")
                                              : residency),
                 Count(NumberOf(replica, "running")),
                 Seconds(step),
                 {step < 0 ? "-" : absl::StrFormat("%.0f%%", pace * 100), pace},
                 Count(NumberOf(replica, "tokens_per_s")),
                 Text(TextOf(replica, "model")),
                 Count(NumberOf(replica, "prefilling")),
                 Count(NumberOf(replica, "preemptions"))};
    if (health != "up") {
      row.tone = health == "down" ? Tone::kBad : Tone::kWarn;
    } else if (condition.bad) {
      row.tone = Tone::kBad;
    } else if (!condition.text.empty() || (step >= 0 && pace < 0.75)) {
      row.tone = Tone::kWarn;
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table QueueOf(const Json& requests) {
  Table table{"Queue", "Nobody waits.", {}, {}};
  table.columns = {{"REQUEST", 18},     {"CLASS", 12}, {"PLACE", 6, true}, {"WAITS", 7, true},
                   {"STARTS", 7, true}, {"WHY", 15},   {"TENANT", 12},     {"MODEL", 18}};
  for (const Json& request : requests.at("waiting")) {
    const double position = NumberOf(request, "position", -1);
    Row row;
    row.cells = {Text(TextOf(request, "request")),
                 Text(TextOf(request, "class")),
                 position < 0 ? Cell{"-", -1} : Count(position),
                 Seconds(NumberOf(request, "age_s")),
                 Seconds(NumberOf(request, "expected_start_s", -1)),
                 Text(TextOf(request, "reason")),
                 Text(TextOf(request, "tenant")),
                 Text(TextOf(request, "model"))};
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table TenantsOf(const Json& tenants) {
  Table table{"Tenants", "No tenants are configured.", {}, {}};
  table.columns = {{"TENANT", 14},    {"DUE", 6, true}, {"SHARE", 6, true}, {"AHEAD", 7, true},
                   {"LEFT", 8, true}, {"RUN", 5, true}, {"WAIT", 5, true},  {"WEIGHT", 7, true}};
  const auto share = [](const Json& tenant, const char* name) {
    const double value = NumberOf(tenant, name, -1);
    return value < 0 ? Cell{"-", -1} : Cell{absl::StrFormat("%.0f%%", value * 100), value};
  };
  for (const Json& tenant : tenants.at("tenants")) {
    const bool limited = !tenant.at("available_tokens").is_null();
    const double left = NumberOf(tenant, "available_tokens");
    Row row;
    row.cells = {
        Text(TextOf(tenant, "name")),       share(tenant, "due_share"),       share(tenant, "share"),
        Count(NumberOf(tenant, "lead")),    limited ? Count(left) : Text(""), Count(NumberOf(tenant, "running")),
        Count(NumberOf(tenant, "waiting")), Count(NumberOf(tenant, "weight"))};
    if (limited && left <= 0) row.tone = Tone::kWarn;
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table DecisionsOf(const Json& requests) {
  Table table{"Decisions", "No decision yet.", {}, {}};
  table.columns = {{"REQUEST", 18}, {"EVENT", 8},        {"CLASS", 12},       {"REPLICA", 12},
                   {"REASON", 15},  {"WAITED", 7, true}, {"TOKENS", 7, true}, {"MODEL", 18}};
  const Json& decisions = requests.at("decisions");
  for (auto decision = decisions.rbegin(); decision != decisions.rend(); ++decision) {
    const std::string event = TextOf(*decision, "event");
    const double output = NumberOf(*decision, "output_tokens", -1);
    Row row;
    row.cells = {Text(TextOf(*decision, "request")),
                 Text(event),
                 Text(TextOf(*decision, "class")),
                 Text(TextOf(*decision, "replica")),
                 Text(TextOf(*decision, event == "notice" ? "message" : "reason")),
                 Seconds(NumberOf(*decision, "waited_s", -1)),
                 output < 0 ? Cell{"-", -1} : Count(output),
                 Text(TextOf(*decision, "model"))};
    row.tone = event == "refuse" || event == "error" ? Tone::kBad : event == "abort" ? Tone::kWarn : Tone::kPlain;
    table.rows.push_back(std::move(row));
  }
  return table;
}

// A router of an older version has none.
Table NodesOf(const Json& fleet) {
  Table table{"Nodes", "No GPU id names a node.", {}, {}};
  table.columns = {{"NODE", 18},         {"REPLICAS", 9, true}, {"MEMORY", 7, true}, {"COMPUTE", 8, true},
                   {"STORAGE", 8, true}, {"IO CPU", 7, true},   {"READS", 6, true}};
  const auto part = [](const Json& left, const char* name) {
    const double value = NumberOf(left, name, -1);
    return Cell{absl::StrFormat("%.0f%%", 100 * value), value};
  };
  for (const Json& node : fleet.value("nodes", Json::array())) {
    const Json& left = node.at("left");
    Row row;
    row.cells = {Text(TextOf(node, "name")),
                 Count(NumberOf(node, "replicas")),
                 part(left, "memory"),
                 part(left, "compute"),
                 part(left, "storage"),
                 part(left, "io_cpu"),
                 Count(NumberOf(node, "storage_requests"))};
    if (NumberOf(left, "storage", 1) < 0.2 || NumberOf(left, "io_cpu", 1) < 0.2) row.tone = Tone::kWarn;
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::vector<Contestant> ComparisonOf(const Json& fleet) {
  std::vector<Contestant> rows;
  for (const Json& row : fleet.value("comparison", Json::array())) {
    rows.push_back({TextOf(row, "policy"), NumberOf(row, "on_time") / std::max(1.0, NumberOf(row, "requests")),
                    NumberOf(row, "active_per_s"), NumberOf(row, "ttft_p99_s", -1)});
  }
  return rows;
}

// The shares of the states, the largest first; empty: a router of an older version.
std::string GpuTimeOf(const Json& fleet) {
  const auto found = fleet.find("gpu_time");
  if (found == fleet.end()) return "";
  std::vector<std::pair<double, std::string>> states;
  double whole = 0;
  for (const auto& [name, seconds] : found->at("seconds").items()) {
    states.emplace_back(seconds.get<double>(), Harmless(name));
    whole += states.back().first;
  }
  std::stable_sort(states.begin(), states.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = "GPU time";
  for (const auto& [seconds, name] : states) {
    if (seconds < 0.005 * whole || seconds <= 0) break;
    absl::StrAppendFormat(&text, " %s %.0f%%", name, 100 * seconds / whole);
  }
  absl::StrAppendFormat(&text, ", %.2f productive hours", NumberOf(*found, "productive_gpu_hours"));
  const auto pools = std::ranges::count_if(fleet.at("pools"), [](auto& of) { return NumberOf(of, "stranded") > 0; });
  if (pools > 0) absl::StrAppendFormat(&text, ", KV stranded on %d", pools);
  return text;
}

// A router of an older version has none.
std::string ShadowOf(const Json& state) {
  const auto found = state.find("shadow");
  if (found == state.end() || !found->value("configured", false)) return "";
  std::string text = absl::StrFormat("shadow %s agrees on %.0f%% of %.0f", TextOf(*found, "shadow"),
                                     100 * NumberOf(*found, "agreement_share"), NumberOf(*found, "compared"));
  const Json& copies = found->at("counterfactual");
  if (copies.at("worth_on_time_share").is_null()) return text;
  absl::StrAppendFormat(&text, ", worth %+.1f points on time, %+.0f active tok/s",
                        100 * NumberOf(copies, "worth_on_time_share"), NumberOf(copies, "worth_active_per_s"));
  return text;
}

TopState StateOf(const Json& state) {
  const Json& fleet = state.at("fleet");
  const Json& requests = state.at("requests");
  const Json& router = fleet.at("router");
  const Json& tokens = fleet.at("tokens");
  TopState top;
  top.version = TextOf(router, "version");
  top.policy = TextOf(router, "policy");
  top.uptime = NumberOf(router, "uptime_s");
  top.draining = router.at("draining").get<bool>();
  top.active_per_s = LastOf(tokens.at("active_per_s"));
  top.late_per_s = LastOf(tokens.at("late_per_s"));
  top.wasted_per_s = LastOf(tokens.at("wasted_per_s"));
  top.running = static_cast<int64_t>(NumberOf(requests, "running_total"));
  top.waiting = static_cast<int64_t>(NumberOf(requests, "waiting_total"));
  top.replicas = static_cast<int64_t>(NumberOf(fleet, "replicas_total"));
  for (const Json& replica : fleet.at("replicas")) top.replicas_up += replica.at("health") == "up" ? 1 : 0;
  top.last_error = TextOf(fleet.at("configuration"), "last_error");
  top.comparison = ComparisonOf(fleet);
  top.gpu_time = GpuTimeOf(fleet);
  top.shadow = ShadowOf(state);
  top.gpus = GpusOf(fleet);
  top.tables[static_cast<size_t>(Panel::kReplicas)] = ReplicasOf(fleet);
  top.tables[static_cast<size_t>(Panel::kQueue)] = QueueOf(requests);
  top.tables[static_cast<size_t>(Panel::kTenants)] = TenantsOf(state.at("tenants"));
  top.tables[static_cast<size_t>(Panel::kDecisions)] = DecisionsOf(requests);
  top.tables[static_cast<size_t>(Panel::kNodes)] = NodesOf(fleet);
  return top;
}

}  // namespace

absl::StatusOr<TopState> ReadState(absl::string_view json) {
  try {
    return StateOf(Json::parse(json.begin(), json.end()));
  } catch (const nlohmann::json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("the answer is no state of Penstock: ", Harmless(error.what())));
  }
}

}  // namespace penstock::top
