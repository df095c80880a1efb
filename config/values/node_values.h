// The exporters of nodes and their rules. Range, form and effect of each key: config/keys/node_keys.h.
#ifndef PENSTOCK_CONFIG_VALUES_NODE_VALUES_H_
#define PENSTOCK_CONFIG_VALUES_NODE_VALUES_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/units.h"
#include "config/values/tls_values.h"

namespace penstock {

enum class ExporterKind : uint8_t { kNodeExporter, kDcgm, kHami, kPrometheus };

// A built-in rule of a kind. Several conditions of one cause share a name.
struct BuiltInRule {
  ExporterKind kind;
  absl::string_view name;
};
inline constexpr std::array<BuiltInRule, 15> kBuiltInRules = {{
    {ExporterKind::kNodeExporter, "io_stalled"},
    {ExporterKind::kNodeExporter, "memory_stalled"},
    {ExporterKind::kNodeExporter, "cpu_waiting"},
    {ExporterKind::kNodeExporter, "io_waiting"},
    {ExporterKind::kNodeExporter, "disk_time"},
    {ExporterKind::kNodeExporter, "md_rebuild"},
    {ExporterKind::kNodeExporter, "md_inactive"},
    {ExporterKind::kNodeExporter, "md_failed"},
    {ExporterKind::kDcgm, "throttled"},
    {ExporterKind::kDcgm, "fatal_xid"},
    {ExporterKind::kDcgm, "row_remap"},
    {ExporterKind::kDcgm, "memory_clock"},
    {ExporterKind::kDcgm, "memory_full"},
    {ExporterKind::kDcgm, "bad_memory"},
    {ExporterKind::kHami, "vgpu_memory"},
}};

enum class NodeEffect : uint8_t {
  kDerate,   // Steps take `factor` times as long.
  kStorage,  // The value is the storage pressure, in units of `factor`.
  kCpu,      // The value is the pressure on the CPU, in units of `factor`.
  kDrain,    // No new request while a peer can take it.
  kNotice,   // A line of the log only.
};

// A sample that breaks a bound has an effect on the replicas of its GPU or node.
struct NodeRuleConfig {
  std::string metric;
  std::map<std::string, std::string> labels;   // Each must fit (FitsLabel).
  std::map<std::string, std::string> without;  // A sample is left out where one of these fits.
  std::string over;                            // The value is divided by that of this metric; empty: it is not.
  bool rate = false;                           // The bounds are for the increase per second.
  std::optional<double> above;
  std::optional<double> below;
  Duration hold;  // The bound is broken for so long before the effect begins.
  NodeEffect effect = NodeEffect::kNotice;
  double factor = 2;
  bool operator==(const NodeRuleConfig&) const = default;
};

struct ExporterConfig {
  ExporterKind kind = ExporterKind::kPrometheus;
  std::string url;
  Duration every = Duration::Seconds(5);
  Duration timeout = Duration::Seconds(2);
  std::string key;  // The secret itself.
  std::optional<EngineTlsConfig> tls;
  std::vector<std::string> disable;  // Names of built-in rules.
  std::vector<NodeRuleConfig> rules;
  bool operator==(const ExporterConfig&) const = default;
};

// The storage of a node in a simulation.
struct SimulatedStorageConfig {
  double pressure = 0;  // Others take such a part of it.
  Duration from;
  Duration to = Duration::Infinite();
  bool operator==(const SimulatedStorageConfig&) const = default;
};

struct NodeConfig {
  std::string id;                     // The part of the ids of its GPUs before the last slash.
  std::optional<Bytes> sleep_memory;  // Its sleeping replicas may keep so much of their weights; empty: no bound.
  std::vector<ExporterConfig> exporters;
  std::optional<SimulatedStorageConfig> simulated;
  bool operator==(const NodeConfig&) const = default;
};

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_VALUES_NODE_VALUES_H_
