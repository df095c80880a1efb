#include "backends/node/signals/signal_rules.h"

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

constexpr Duration kSustained = Duration::Seconds(10);
// Hardware slowdown, software and hardware thermal slowdown, power brake, of NVML's clock event reasons.
constexpr uint64_t kThrottled = 0x8 | 0x20 | 0x40 | 0x80;
// Errors after which the GPU needs a reset: double-bit ECC, NVLink, off the bus, uncontained ECC, GSP timeout.
constexpr int kFatalXids[] = {48, 74, 79, 95, 119};

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

void AddNodeExporter(std::vector<SignalRule>& rules) {
  rules.push_back({RateAbove("node_pressure_io_stalled_seconds_total", 0.4, kSustained, NodeEffect::kDerate, 2)});
  rules.push_back({RateAbove("node_pressure_memory_stalled_seconds_total", 0.2, kSustained, NodeEffect::kDerate, 2)});
  rules.push_back({RateAbove("node_pressure_cpu_waiting_seconds_total", 0.6, kSustained, NodeEffect::kDerate, 1.5)});
  rules.push_back({RateAbove("node_pressure_io_waiting_seconds_total", 0.05, {}, NodeEffect::kStorage, 1)});
  rules.push_back({RateAbove("node_disk_io_time_seconds_total", 0.3, {}, NodeEffect::kStorage, 1)});
  for (const char* state : {"recovering", "resync"}) {
    rules.push_back({StateOf("node_md_state", state, NodeEffect::kDerate, 1.5)});
    rules.push_back({StateOf("node_md_state", state, NodeEffect::kStorage, 2)});
  }
  rules.push_back({StateOf("node_md_state", "inactive", NodeEffect::kDrain, 1)});
  rules.push_back({StateOf("node_md_disks", "failed", NodeEffect::kNotice, 1)});
}

void AddDcgm(std::vector<SignalRule>& rules) {
  for (const char* metric : {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS"}) {
    NodeRuleConfig rule;
    rule.metric = metric;
    rule.above = 0;
    rule.hold = kSustained;
    rule.effect = NodeEffect::kDerate;
    rule.factor = 1.5;
    rules.push_back({rule, kThrottled});
  }
  for (const int xid : kFatalXids) {
    NodeRuleConfig rule;
    rule.metric = "DCGM_FI_DEV_XID_ERRORS";
    rule.above = xid - 0.5;
    rule.below = xid + 0.5;
    rule.effect = NodeEffect::kDrain;
    rules.push_back({rule});
  }
}

}  // namespace

std::vector<SignalRule> RulesOf(const ExporterConfig& exporter) {
  std::vector<SignalRule> rules;
  if (exporter.kind == ExporterKind::kNodeExporter) AddNodeExporter(rules);
  if (exporter.kind == ExporterKind::kDcgm) AddDcgm(rules);
  for (const NodeRuleConfig& rule : exporter.rules) rules.push_back({rule});
  return rules;
}

std::string TextOf(const NodeRuleConfig& rule) {
  std::string text = rule.rate ? absl::StrCat("rate of ", rule.metric) : rule.metric;
  for (const auto& [name, value] : rule.labels) absl::StrAppend(&text, " ", name, "=", value);
  if (rule.above) absl::StrAppend(&text, " above ", *rule.above);
  if (rule.below) absl::StrAppend(&text, " below ", *rule.below);
  switch (rule.effect) {
    case NodeEffect::kDerate:
      return absl::StrCat(text, ": derate ", rule.factor);
    case NodeEffect::kStorage:
      return absl::StrCat(text, ": storage pressure");
    case NodeEffect::kDrain:
      return absl::StrCat(text, ": drain");
    case NodeEffect::kNotice:
      return absl::StrCat(text, ": notice");
  }
  return text;
}

}  // namespace penstock
