#include "app/simulate/fleet_layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// A planned replica is a sound one on GPUs of its own memory rules.
ReplicaConfig ReplicaLike(const PlannedModel& model, const std::vector<std::string>& gpus) {
  ReplicaConfig replica = model.like;
  replica.url.clear();
  replica.gpus = gpus;
  replica.tensor_parallel = static_cast<int>(gpus.size());
  replica.kv_tokens.reset();
  replica.kv_memory.reset();
  replica.resident.reset();
  replica.sleep.reset();
  if (replica.simulated) {
    replica.simulated->slowdown = {};
    replica.simulated->outage.reset();
    replica.simulated->sleep.reset();
  }
  return replica;
}

}  // namespace

LayoutMaker::LayoutMaker(const std::vector<PlannedModel>& models, const GpuKind& kind)
    : models_(models), kind_(kind), room_(kind), by_work_(models.size()) {
  std::iota(by_work_.begin(), by_work_.end(), size_t{0});
  std::stable_sort(by_work_.begin(), by_work_.end(),
                   [&](size_t a, size_t b) { return models_[a].work > models_[b].work; });
}

double LayoutMaker::AllWork() const {
  return std::accumulate(models_.begin(), models_.end(), 0.0,
                         [](double sum, const PlannedModel& model) { return sum + model.work; });
}

bool LayoutMaker::Fits(const std::vector<size_t>& group) const {
  double needed = 0;
  for (const size_t model : group) needed += room_.NeededBy(models_[model], 1);
  return needed <= room_.Usable(1);
}

bool LayoutMaker::MaySleep(const std::vector<size_t>& group) const {
  return std::all_of(group.begin(), group.end(), [&](size_t model) {
    return models_[model].like.sleep && room_.SleeperNeeds(models_[model]) <= room_.Usable(1);
  });
}

void LayoutMaker::LetSleep(const PlannedModel& model, ReplicaConfig& replica) const {
  replica.sleep = model.like.sleep;
  replica.kv_memory = Bytes(static_cast<int64_t>(room_.SleeperCache(model)));
  replica.resident = Bytes(static_cast<int64_t>(room_.SleeperNeeds(model)));
}

int LayoutMaker::GpusOf(const std::vector<size_t>& group) const {
  return group.size() == 1 ? models_[group.front()].ranks : 1;
}

Config LayoutMaker::ConfigOf(const FleetLayout& layout, const Config& like) const {
  Config config = like;
  config.gpus.clear();
  config.replicas.clear();
  for (const std::vector<size_t>& group : layout) {
    std::vector<std::string> ids;
    double weights = 0;
    for (const size_t model : group) weights += models_[model].weights;
    const bool sleeps = group.size() > 1 && !Fits(group);
    for (int rank = 0; rank < GpusOf(group); ++rank) {
      GpuConfig& gpu = config.gpus.emplace_back();
      gpu.id = absl::StrCat("gpu", config.gpus.size() - 1);
      gpu.kind = kind_;
      if (sleeps) gpu.kind.memory = Bytes(static_cast<int64_t>(room_.Usable(1)));
      if (group.size() > 1 && !sleeps)
        gpu.elastic_kv = Bytes(static_cast<int64_t>(room_.Elastic(weights, group.size())));
      ids.push_back(gpu.id);
    }
    for (const size_t model : group) {
      ReplicaConfig& replica = config.replicas.emplace_back(ReplicaLike(models_[model], ids));
      replica.id = absl::StrCat(models_[model].name, "-", config.replicas.size());
      if (sleeps) LetSleep(models_[model], replica);
    }
  }
  return config;
}

PlannedFleet LayoutMaker::Describe(const FleetLayout& layout, double on_time_share, double active_tokens_per_s) const {
  PlannedFleet fleet;
  fleet.on_time_share = on_time_share;
  fleet.active_tokens_per_s = active_tokens_per_s;
  for (const std::vector<size_t>& group : layout) {
    for (int rank = 0; rank < GpusOf(group); ++rank) {
      PlannedGpu& gpu = fleet.gpus.emplace_back();
      gpu.id = absl::StrCat("gpu", fleet.gpus.size() - 1);
      for (const size_t model : group) gpu.models.push_back(models_[model].name);
      gpu.sleeps = group.size() > 1 && !Fits(group);
    }
  }
  return fleet;
}

std::optional<FleetLayout> LayoutMaker::SharedButFor(size_t busiest, int gpus) const {
  FleetLayout layout;
  std::vector<size_t> shared;
  int left = gpus;
  for (size_t i = 0; i < by_work_.size(); ++i) {
    const PlannedModel& model = models_[by_work_[i]];
    if (model.alone == 0) continue;
    if (i >= busiest && model.ranks == 1) {
      shared.push_back(by_work_[i]);
      continue;
    }
    for (int replica = 0; replica < model.alone; ++replica) layout.push_back({by_work_[i]});
    left -= model.alone * model.ranks;
  }
  if (shared.empty() || left < 1 || (!Fits(shared) && !MaySleep(shared))) return std::nullopt;
  for (int i = 0; i < left; ++i) layout.push_back(shared);
  return layout;
}

bool LayoutMaker::PlaceOn(Shared& shared, size_t model, double load) const {
  size_t best = shared.groups.size();
  for (size_t i = 0; i < shared.groups.size(); ++i) {
    const std::vector<size_t>& group = shared.groups[i];
    if (std::find(group.begin(), group.end(), model) != group.end()) continue;
    std::vector<size_t> with = group;
    with.push_back(model);
    if (Fits(with) && (best == shared.groups.size() || shared.load[i] < shared.load[best])) best = i;
  }
  if (best == shared.groups.size()) return false;
  shared.groups[best].push_back(model);
  shared.load[best] += load;
  return true;
}

std::optional<FleetLayout> LayoutMaker::InProportion(int gpus) const {
  const double all = AllWork();
  FleetLayout layout;
  int left = gpus;
  std::vector<size_t> order;
  for (size_t model = 0; model < models_.size(); ++model) {
    if (models_[model].ranks == 1) {
      order.push_back(model);
      continue;
    }
    const double wanted = models_[model].work / all * gpus / models_[model].ranks;
    for (int i = 0; i < std::max(1, static_cast<int>(std::lround(wanted))); ++i) {
      layout.push_back({model});
      left -= models_[model].ranks;
    }
  }
  if (left < (order.empty() ? 0 : 1)) return std::nullopt;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return models_[a].weights > models_[b].weights; });
  Shared shared{FleetLayout(static_cast<size_t>(left)), std::vector<double>(static_cast<size_t>(left), 0)};
  for (const size_t model : order) {
    // No more replicas than the load asks for: each one repeats the constant cost of a step.
    const int copies = std::clamp(static_cast<int>(std::ceil(models_[model].work / all * gpus)), 1, left);
    int placed = 0;
    while (placed < copies && PlaceOn(shared, model, models_[model].work / copies)) ++placed;
    if (placed == 0) return std::nullopt;
  }
  for (std::vector<size_t>& group : shared.groups) {
    if (!group.empty()) layout.push_back(std::move(group));
  }
  return layout;
}

}  // namespace penstock
