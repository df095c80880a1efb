#include "config/host_memory_warnings.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/ids.h"
#include "config/text/units_text.h"
#include "config/values/capacity.h"

namespace penstock {
namespace {

std::string InGB(Bytes bytes) { return absl::StrCat(FormatNumber(std::round(bytes.AsDouble() / 1e8) / 10), "GB"); }

struct Sleepers {
  Bytes needed{0};
  int counted = 0;
  std::vector<std::string> fixed;    // They cannot drop their weights.
  std::vector<std::string> unknown;  // Nobody knows their weights.
};

bool MayKeepWeights(const ReplicaConfig& replica) {
  if (!replica.sleep || replica.sleep->by == SleepBy::kCommand || replica.sleep->level.value_or(1) > 1) return false;
  return replica.engine == "auto" || replica.engine == "vllm" || replica.engine == "sglang";
}

Sleepers SleepersOn(const Config& config, const NodeConfig& node) {
  Sleepers sleepers;
  for (const ReplicaConfig& replica : config.replicas) {
    const auto gpus = std::count_if(replica.gpus.begin(), replica.gpus.end(),
                                    [&](const std::string& gpu) { return NodeOf(gpu) == node.id; });
    if (gpus == 0 || !MayKeepWeights(replica)) continue;
    const Bytes weights = HostMemoryPerGpu(config, replica, replica.model);
    // A replica without a model learns it from its engine.
    if (weights <= Bytes(0) && !replica.model.empty()) sleepers.unknown.push_back(replica.id);
    if (weights <= Bytes(0)) continue;
    sleepers.needed += weights * gpus;
    ++sleepers.counted;
    if (replica.sleep->level || replica.engine == "sglang") sleepers.fixed.push_back(replica.id);
  }
  return sleepers;
}

}  // namespace

std::vector<std::string> HostMemoryWarnings(const Config& config) {
  std::vector<std::string> warnings;
  for (const NodeConfig& node : config.nodes) {
    if (!node.sleep_memory) continue;
    const Sleepers sleepers = SleepersOn(config, node);
    const std::string place = absl::StrCat("nodes: ", node.id, ": sleep_memory ");
    if (sleepers.needed > *node.sleep_memory) {
      std::string warning =
          absl::StrCat(place, "of ", InGB(*node.sleep_memory), " does not hold the weights of all ", sleepers.counted,
                       " replicas that may sleep there, which are ", InGB(sleepers.needed));
      const auto fixed = static_cast<int>(sleepers.fixed.size());
      if (fixed < sleepers.counted) absl::StrAppend(&warning, "; one without room drops them and wakes from disk");
      if (fixed > 0) {
        absl::StrAppend(&warning, "; without room, ", absl::StrJoin(sleepers.fixed, ", "),
                        fixed == 1 ? " stays" : " stay", " awake");
      }
      warnings.push_back(std::move(warning));
    }
    if (!sleepers.unknown.empty()) {
      warnings.push_back(absl::StrCat(place, "does not count ", absl::StrJoin(sleepers.unknown, ", "),
                                      ": the size of the weights is unknown; name a model with a known shape, or give "
                                      "resident"));
    }
  }
  return warnings;
}

}  // namespace penstock
