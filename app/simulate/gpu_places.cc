#include "app/simulate/gpu_places.h"

#include <algorithm>

#include "config/values/capacity.h"

namespace penstock {

std::vector<int> GpuPlaces::GpusOf(const ReplicaConfig& replica) {
  if (replica.gpus.empty()) return {PlaceOf(replica.id, simulated::Sharing::kTimeSlicing)};
  std::vector<int> gpus;
  for (const std::string& id : replica.gpus) {
    const GpuConfig* gpu = FindGpu(config_, id);
    const bool mps = gpu != nullptr && gpu->sharing == GpuSharing::kMps;
    gpus.push_back(PlaceOf(id, mps ? simulated::Sharing::kMps : simulated::Sharing::kTimeSlicing));
  }
  return gpus;
}

int GpuPlaces::ElasticOf(const simulated::EngineSpec& engine) {
  if (engine.elastic_gpu.empty()) return -1;
  const auto [found, is_new] = elastic_.emplace(engine.elastic_gpu, static_cast<int>(spec_.elastic.size()));
  if (is_new) spec_.elastic.push_back(engine.elastic_kv);
  return found->second;
}

double GpuPlaces::PriceOf(const std::string& name) const {
  const auto gpu =
      std::find_if(config_.gpus.begin(), config_.gpus.end(), [&](const GpuConfig& one) { return one.id == name; });
  return gpu == config_.gpus.end() ? 0 : gpu->price;
}

int GpuPlaces::PlaceOf(const std::string& name, simulated::Sharing sharing) {
  const auto [found, is_new] = gpus_.emplace(name, static_cast<int>(spec_.gpus.size()));
  if (is_new) {
    spec_.gpus.push_back(sharing);
    spec_.gpu_names.push_back(name);
    spec_.gpu_prices.push_back(PriceOf(name));
  }
  return found->second;
}

}  // namespace penstock
