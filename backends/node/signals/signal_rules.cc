#include "backends/node/signals/signal_rules.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace penstock {
namespace {

constexpr Duration kSustained = Duration::Seconds(10);
// Hardware slowdown, software and hardware thermal slowdown, power brake, of NVML's clock event reasons.
constexpr uint64_t kThrottled = 0x8 | 0x20 | 0x40 | 0x80;
// Errors after which the GPU needs a reset: double-bit ECC, NVLink, off the bus, uncontained ECC, GSP timeout.
constexpr int kFatalXids[] = {48, 74, 79, 95, 119};

// Devices without storage of their own, or whose time another one shows.
constexpr char kNoStorage[] = "loop*|ram*|zram*|sr*|fd*|dm-*";
// Free memory in MiB, below which the next allocation of an engine may fail.
constexpr double kLeastFreeMiB = 256;

NodeRuleConfig RateAbove(const char* metric, double above, Duration hold, NodeEffect effect, double factor) {
  NodeRuleConfig rule;
  rule.metric = metric;
  rule.rate = true;
  rule.above = above;
  rule.hold = hold;
  rule.effect = effect;
  rule.factor = factor;
  return rule;
}

NodeRuleConfig StateOf(const char* metric, const char* state, NodeEffect effect, double factor) {
  NodeRuleConfig rule;
  rule.metric = metric;
  rule.labels = {{"state", state}};
  rule.above = 0;
  rule.effect = effect;
  rule.factor = factor;
  return rule;
}

NodeRuleConfig Above(const char* metric, double above, NodeEffect effect, Duration hold = {}) {
  NodeRuleConfig rule;
  rule.metric = metric;
  rule.above = above;
  rule.hold = hold;
  rule.effect = effect;
  return rule;
}

void AddNodeExporter(std::vector<SignalRule>& rules) {
  const auto pressure = [&](const char* name, const char* metric, double above, Duration hold, NodeEffect effect,
                            double factor) {
    rules.push_back({RateAbove(metric, above, hold, effect, factor), name});
  };
  pressure("io_stalled", "node_pressure_io_stalled_seconds_total", 0.4, kSustained, NodeEffect::kDerate, 2);
  pressure("memory_stalled", "node_pressure_memory_stalled_seconds_total", 0.2, kSustained, NodeEffect::kDerate, 2);
  pressure("cpu_waiting", "node_pressure_cpu_waiting_seconds_total", 0.6, kSustained, NodeEffect::kDerate, 1.5);
  pressure("cpu_waiting", "node_pressure_cpu_waiting_seconds_total", 0.05, {}, NodeEffect::kCpu, 1);
  pressure("io_waiting", "node_pressure_io_waiting_seconds_total", 0.05, {}, NodeEffect::kStorage, 1);
  pressure("disk_time", "node_disk_io_time_seconds_total", 0.3, {}, NodeEffect::kStorage, 1);
  rules.back().config.without = {{"device", kNoStorage}};
  for (const char* state : {"recovering", "resync"}) {
    rules.push_back({StateOf("node_md_state", state, NodeEffect::kDerate, 1.5), "md_rebuild"});
    rules.push_back({StateOf("node_md_state", state, NodeEffect::kStorage, 2), "md_rebuild"});
  }
  rules.push_back({StateOf("node_md_state", "inactive", NodeEffect::kDrain, 1), "md_inactive"});
  rules.push_back({StateOf("node_md_disks", "failed", NodeEffect::kNotice, 1), "md_failed"});
}

void AddDcgm(std::vector<SignalRule>& rules) {
  for (const char* metric : {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS"}) {
    NodeRuleConfig rule = Above(metric, 0, NodeEffect::kDerate, kSustained);
    rule.factor = 1.5;
    rules.push_back({rule, "throttled", kThrottled});
  }
  for (const int xid : kFatalXids) {
    NodeRuleConfig rule = Above("DCGM_FI_DEV_XID_ERRORS", xid - 0.5, NodeEffect::kDrain);
    rule.below = xid + 0.5;
    rules.push_back({rule, "fatal_xid"});
  }
  rules.push_back({Above("DCGM_FI_DEV_ROW_REMAP_FAILURE", 0, NodeEffect::kDrain), "row_remap"});
  rules.push_back({Above("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 0, NodeEffect::kNotice), "bad_memory"});
  NodeRuleConfig clock;
  clock.metric = "DCGM_FI_DEV_MEM_CLOCK";
  clock.over = "DCGM_FI_DEV_MAX_MEM_CLOCK";
  clock.below = 0.75;
  clock.hold = kSustained;
  rules.push_back({clock, "memory_clock"});
  NodeRuleConfig full;
  full.metric = "DCGM_FI_DEV_FB_FREE";
  full.below = kLeastFreeMiB;
  full.hold = kSustained;
  rules.push_back({full, "memory_full"});
}

void AddHami(std::vector<SignalRule>& rules) {
  NodeRuleConfig rule = Above("hami_vgpu_memory_used_bytes", 0.98, NodeEffect::kNotice, kSustained);
  rule.over = "hami_vgpu_memory_limit_bytes";
  rules.push_back({rule, "vgpu_memory"});
}

}  // namespace

std::vector<SignalRule> RulesOf(const ExporterConfig& exporter) {
  std::vector<SignalRule> rules;
  if (exporter.kind == ExporterKind::kNodeExporter) AddNodeExporter(rules);
  if (exporter.kind == ExporterKind::kDcgm) AddDcgm(rules);
  if (exporter.kind == ExporterKind::kHami) AddHami(rules);
  std::erase_if(rules, [&](const SignalRule& rule) {
    return std::find(exporter.disable.begin(), exporter.disable.end(), rule.name) != exporter.disable.end();
  });
  for (const NodeRuleConfig& rule : exporter.rules) rules.push_back({.config = rule, .name = {}});
  return rules;
}

bool IsOfKind(const ExporterConfig& exporter, absl::string_view name) {
  const auto rule = [name](const NodeRuleConfig& each) { return each.metric == name || each.over == name; };
  if (std::any_of(exporter.rules.begin(), exporter.rules.end(), rule)) return true;
  switch (exporter.kind) {
    case ExporterKind::kNodeExporter:
      return absl::StartsWith(name, "node_");
    case ExporterKind::kDcgm:
      return absl::StartsWith(name, "DCGM_");
    case ExporterKind::kHami:
      return absl::StartsWith(name, "hami_");
    case ExporterKind::kPrometheus:
      return true;
  }
  return true;
}

bool FitsLabel(absl::string_view pattern, absl::string_view value) {
  for (absl::string_view each : absl::StrSplit(pattern, '|')) {
    if (absl::ConsumeSuffix(&each, "*") ? absl::StartsWith(value, each) : value == each) return true;
  }
  return false;
}

std::string TextOf(const NodeRuleConfig& rule) {
  std::string text = rule.rate ? absl::StrCat("rate of ", rule.metric) : rule.metric;
  if (!rule.over.empty()) absl::StrAppend(&text, " over ", rule.over);
  for (const auto& [name, value] : rule.labels) absl::StrAppend(&text, " ", name, "=", value);
  if (rule.above) absl::StrAppend(&text, " above ", *rule.above);
  if (rule.below) absl::StrAppend(&text, " below ", *rule.below);
  switch (rule.effect) {
    case NodeEffect::kDerate:
      return absl::StrCat(text, ": derate ", rule.factor);
    case NodeEffect::kStorage:
      return absl::StrCat(text, ": storage pressure");
    case NodeEffect::kCpu:
      return absl::StrCat(text, ": CPU pressure");
    case NodeEffect::kDrain:
      return absl::StrCat(text, ": drain");
    case NodeEffect::kNotice:
      return absl::StrCat(text, ": notice");
  }
  return text;
}

}  // namespace penstock
