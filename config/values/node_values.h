// The exporters of nodes and their rules. Range, form and effect of each key: config/keys/node_keys.h.
#ifndef PENSTOCK_CONFIG_VALUES_NODE_VALUES_H_
#define PENSTOCK_CONFIG_VALUES_NODE_VALUES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace penstock {

enum class ExporterKind : uint8_t { kNodeExporter, kDcgm, kHami, kPrometheus };

enum class NodeEffect : uint8_t {
  kDerate,   // Steps take `factor` times as long.
  kStorage,  // The value is the storage pressure, in units of `factor`.
  kDrain,    // No new request while a peer can take it.
  kNotice,   // A line of the log only.
};

// A sample that breaks a bound has an effect on the replicas of its GPU or node.
struct NodeRuleConfig {
  std::string metric;
  std::map<std::string, std::string> labels;  // Each must be equal.
  bool rate = false;                          // The bounds are for the increase per second.
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
  std::vector<NodeRuleConfig> rules;
  bool operator==(const ExporterConfig&) const = default;
};

struct NodeConfig {
  std::string id;  // The part of the ids of its GPUs before the last slash.
  std::vector<ExporterConfig> exporters;
  bool operator==(const NodeConfig&) const = default;
};

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_VALUES_NODE_VALUES_H_
