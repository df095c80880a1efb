#include "app/simulate/simulated_storage.h"
#include "base/ids.h"

namespace penstock {

StorageNeed StorageNeedOf(const Config& config, const std::string& tenant) {
  const auto named = config.trace.storage.find(tenant);
  if (named == config.trace.storage.end()) return StorageNeed::kUnsaid;
  return named->second == "heavy"  ? StorageNeed::kHeavy
         : named->second == "some" ? StorageNeed::kSome
                                   : StorageNeed::kNone;
}

std::vector<bench::SimulatedStorage> StoragesOf(const Config& config, const FleetBook& book) {
  std::vector<bench::SimulatedStorage> storages;
  for (const NodeConfig& node : config.nodes) {
    if (!node.simulated) continue;
    bench::SimulatedStorage& storage = storages.emplace_back(
        bench::SimulatedStorage{{}, node.simulated->pressure, node.simulated->from, node.simulated->to});
    for (uint32_t i = 0; i < book.fleet().replicas.size(); ++i) {
      const std::vector<std::string>& gpus = book.replica_config(ReplicaId(i)).gpus;
      if (!gpus.empty() && NodeOf(gpus.front()) == node.id) storage.replicas.push_back(i);
    }
  }
  return storages;
}

}  // namespace penstock
