#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/harmless.h"
#include "bench/figures/results.h"
#include "bench/figures/results_json.h"

namespace penstock::bench {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const std::optional<Percentiles>& percentiles) {
  if (!percentiles) return {{"p50", nullptr}, {"p90", nullptr}, {"p99", nullptr}};
  return {{"p50", percentiles->p50}, {"p90", percentiles->p90}, {"p99", percentiles->p99}};
}

template <class T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// The object of this class looks for each name among all others; the names of a map differ already.
template <class T>
void Append(Json& object, const std::string& name, T value) {
  Json::object_t::Container& members = object.get_ref<Json::object_t&>();
  members.emplace_back(name, std::move(value));
}

template <class T>
Json ToJson(const std::map<std::string, T>& counts) {
  Json json = Json::object();
  for (const auto& [name, value] : counts) Append(json, name, value);
  return json;
}

std::string Line(const char* name, const std::string& value) { return absl::StrFormat("  %-24s %s\n", name, value); }

std::string LatencyLine(const char* name, const std::optional<Percentiles>& latency) {
  if (!latency) return Line(name, "-");
  return Line(name, absl::StrFormat("p50 %.3f  p90 %.3f  p99 %.3f", latency->p50, latency->p90, latency->p99));
}

std::string CountsLine(const char* name, const std::map<std::string, int64_t>& counts) {
  if (counts.empty()) return Line(name, "0");
  std::string text;
  for (const auto& [reason, count] : counts) {
    absl::StrAppendFormat(&text, "%s%d %s", text.empty() ? "" : ", ", count, Harmless(reason));
  }
  return Line(name, text);
}

std::string WasteLine(const std::map<std::string, double>& wasted) {
  std::string text;
  for (const auto& [cause, rate] : wasted) {
    absl::StrAppendFormat(&text, "%s%.1f %s", text.empty() ? "" : ", ", rate, Harmless(cause));
  }
  return Line("wasted tokens/s", text.empty() ? "0" : text);
}

}  // namespace

std::string GroupsTable(const char* title, const std::map<std::string, GroupResults>& groups) {
  constexpr size_t kMostShown = 12;
  std::string text = absl::StrFormat("  %-24s %8s %8s %8s %8s %10s %10s\n", title, "offered", "finished", "refused",
                                     "on time", "active/s", "goodput/s");
  size_t shown = 0;
  for (const auto& [name, group] : groups) {
    if (++shown > kMostShown) {
      absl::StrAppendFormat(&text, "    and %d more\n", groups.size() - kMostShown);
      break;
    }
    absl::StrAppendFormat(&text, "    %-22s %8d %8d %8d %7.2f%% %10.1f %10.1f\n",
                          name.empty() ? "(none)" : Harmless(name), group.offered, group.finished, group.refused,
                          100 * group.on_time_share, group.active_tokens_per_s, group.goodput_tokens_per_s);
  }
  return text;
}

Json GroupsAsJson(const std::map<std::string, GroupResults>& groups) {
  Json json = Json::object();
  for (const auto& [name, group] : groups) {
    Append(json, name,
           Json{{"offered", group.offered},
                {"finished", group.finished},
                {"refused", group.refused},
                {"on_time_share", group.on_time_share},
                {"active_tokens_per_s", group.active_tokens_per_s},
                {"goodput_tokens_per_s", group.goodput_tokens_per_s},
                {"ttft_s", ToJson(group.ttft_s)},
                {"tpot_s", ToJson(group.tpot_s)}});
  }
  return json;
}

Json ResultsAsJson(const Results& results) {
  return Json{{"offered", results.offered},
              {"finished", results.finished},
              {"refused", ToJson(results.refused)},
              {"failed", ToJson(results.failed)},
              {"on_time_share", results.on_time_share},
              {"active_tokens_per_s", results.active_tokens_per_s},
              {"goodput_tokens_per_s", results.goodput_tokens_per_s},
              {"total_tokens_per_s", results.total_tokens_per_s},
              {"late_tokens_per_s", results.late_tokens_per_s},
              {"abandoned_tokens_per_s", results.abandoned_tokens_per_s},
              {"recomputed_tokens_per_s", OrNull(results.recomputed_tokens_per_s)},
              {"answered_tokens_per_s", results.answered_tokens_per_s},
              {"delivered",
               {{"total", results.total_tokens_per_s},
                {"active", results.delivered_active_tokens_per_s},
                {"late", results.late_tokens_per_s},
                {"abandoned", results.abandoned_tokens_per_s}}},
              {"wasted_tokens_per_s", ToJson(results.wasted_tokens_per_s)},
              {"preemptions", OrNull(results.preemptions)},
              {"ttft_s", ToJson(results.ttft_s)},
              {"tpot_s", ToJson(results.tpot_s)},
              {"queue_wait_s", ToJson(results.queue_wait_s)},
              {"refused_wait_s", ToJson(results.refused_wait_s)},
              {"per_class", GroupsAsJson(results.per_class)},
              {"per_tenant", GroupsAsJson(results.per_tenant)},
              {"per_model", GroupsAsJson(results.per_model)},
              {"per_replica", GroupsAsJson(results.per_replica)},
              {"per_prompt_quartile", GroupsAsJson(results.per_prompt_quartile)},
              {"forecast", ToJson(results.forecast)}};
}

std::string ResultsJson(const Results& results) {
  // Names come from files and networks: bytes that are not UTF-8 are replaced instead of failing the whole report.
  return ResultsAsJson(results).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string ResultsTable(const Results& results) {
  std::string text;
  text += Line("offered", absl::StrFormat("%d", results.offered));
  text += Line("finished", absl::StrFormat("%d", results.finished));
  text += CountsLine("refused", results.refused);
  text += CountsLine("failed", results.failed);
  text += Line("on time", absl::StrFormat("%.2f%%", 100 * results.on_time_share));
  text += Line("active tokens/s", absl::StrFormat("%.1f of %.1f, by requests that arrived in the run",
                                                  results.active_tokens_per_s, results.answered_tokens_per_s));
  text += Line("goodput tokens/s", absl::StrFormat("%.1f", results.goodput_tokens_per_s));
  text += Line("delivered tokens/s", absl::StrFormat("%.1f: active %.1f, late %.1f, abandoned %.1f",
                                                     results.total_tokens_per_s, results.delivered_active_tokens_per_s,
                                                     results.late_tokens_per_s, results.abandoned_tokens_per_s));
  text += WasteLine(results.wasted_tokens_per_s);
  text += Line("recomputed tokens/s", results.recomputed_tokens_per_s
                                          ? absl::StrFormat("%.1f", *results.recomputed_tokens_per_s)
                                          : std::string("-"));
  text += Line("preemptions", results.preemptions ? absl::StrFormat("%d", *results.preemptions) : std::string("-"));
  text += LatencyLine("ttft s", results.ttft_s);
  text += LatencyLine("tpot s", results.tpot_s);
  text += LatencyLine("queue wait s", results.queue_wait_s);
  text += LatencyLine("refused wait s", results.refused_wait_s);
  text += GroupsTable("class", results.per_class);
  text += GroupsTable("model", results.per_model);
  text += GroupsTable("tenant", results.per_tenant);
  if (!results.per_replica.empty()) text += GroupsTable("replica", results.per_replica);
  text += GroupsTable("prompt quartile", results.per_prompt_quartile);
  return text;
}

}  // namespace penstock::bench
