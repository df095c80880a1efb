#include <algorithm>
#include <set>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/ids.h"
#include "config/read/fleet_checks.h"
#include "config/read/section_checks.h"
#include "config/text/findings.h"

namespace penstock {

void CheckSection(NodeRuleConfig& rule, const MapReader& map, Draft&) {
  if (!map.Has("above") && !map.Has("below")) map.Fail("metric", "needs a bound: above or below");
  if (rule.above && rule.below && *rule.above >= *rule.below) {
    map.Fail("above", "must be lower than below: the rule holds between both");
  }
  if (rule.rate && !rule.over.empty()) map.Fail("over", "cannot be used with rate");
  const bool pressure = rule.effect == NodeEffect::kStorage || rule.effect == NodeEffect::kCpu;
  if (!map.Has("factor") && pressure) rule.factor = 1;
  if (rule.effect == NodeEffect::kDerate && (rule.factor < 1 || rule.factor > 20)) {
    map.Fail("factor", "of a derate must be 1 to 20");
  }
}

void CheckSection(ExporterConfig& exporter, const MapReader& map, Draft&) {
  if (exporter.kind == ExporterKind::kPrometheus && exporter.rules.empty())
    map.Fail("kind", "has no built-in rules: give rules");
  std::vector<absl::string_view> known;
  for (const BuiltInRule& rule : kBuiltInRules) {
    if (rule.kind == exporter.kind) known.push_back(rule.name);
  }
  for (const std::string& name : exporter.disable) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    map.Fail("disable",
             absl::StrCat("no built-in rule of this kind is named \"", name, "\"", map.Suggest(name, known)));
  }
  if (!map.Has("timeout")) exporter.timeout = std::min(exporter.timeout, exporter.every);
  if (exporter.timeout > exporter.every) map.Fail("timeout", "must not be longer than every");
}

void CheckSection(NodeConfig& node, const MapReader& map, Draft&) {
  const bool empty = node.exporters.empty() && !node.simulated && !map.Has("sleep_memory");
  if (empty && !node.id.empty()) map.Fail("exporters", "must not be empty");
  std::set<std::string> urls;
  for (const ExporterConfig& exporter : node.exporters) {
    if (!urls.insert(exporter.url).second) map.Fail("exporters", absl::StrCat("duplicate url \"", exporter.url, "\""));
  }
}

void CheckNodes(const Draft& draft) {
  std::set<std::string> ids;
  std::vector<absl::string_view> known;
  for (const GpuConfig& gpu : draft.config.gpus) {
    if (const absl::string_view node = NodeOf(gpu.id); !node.empty()) known.push_back(node);
  }
  for (size_t i = 0; i < draft.config.nodes.size(); ++i) {
    const std::string& id = draft.config.nodes[i].id;
    if (id.empty()) continue;
    if (!ids.insert(id).second) draft.At("nodes", i).Fail("id", absl::StrCat("duplicate id \"", id, "\""));
    if (std::find(known.begin(), known.end(), absl::string_view(id)) != known.end()) continue;
    draft.At("nodes", i)
        .Fail("id", absl::StrCat("no GPU has an id that begins with \"", id, "/\"", Suggestion(id, known),
                                 "; give it gpus, and replicas that name them"));
  }
}

}  // namespace penstock
