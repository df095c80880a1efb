#include "router/core/accounts/gpu_accounts.h"

#include <algorithm>

namespace penstock {

std::vector<ReplicaPlace> PlacesOf(const Fleet& fleet) {
  std::vector<ReplicaPlace> places;
  places.reserve(fleet.replicas.size());
  for (const ReplicaSpec& replica : fleet.replicas) {
    places.push_back({replica.removed ? std::vector<uint32_t>() : replica.gpus, replica.models});
  }
  return places;
}

void GpuAccounts::Place(const std::vector<ReplicaPlace>& replicas, size_t models, Instant now) {
  SettleAll(now);
  replicas_.resize(std::max(replicas_.size(), replicas.size()));
  waiting_.resize(std::max(waiting_.size(), models), 0);
  for (Gpu& gpu : gpus_) gpu.replicas.clear();
  for (size_t i = 0; i < replicas.size(); ++i) {
    replicas_[i].place = replicas[i];
    for (const uint32_t gpu : replicas[i].gpus) {
      if (gpu >= gpus_.size()) gpus_.resize(gpu + 1);
      gpus_[gpu].replicas.push_back(i);
    }
  }
  SettleAll(now);
}

void GpuAccounts::SetPrice(size_t gpu, double price, Instant now) {
  if (gpu >= gpus_.size()) return;
  Settle(gpus_[gpu], now);
  gpus_[gpu].price = price;
}

void GpuAccounts::SetWork(size_t replica, const ReplicaWork& work, Instant now) {
  if (replica >= replicas_.size() || replicas_[replica].work == work) return;
  replicas_[replica].work = work;
  SettleOf(replica, now);
}

void GpuAccounts::SetAsleep(size_t replica, bool asleep, Instant now) {
  if (replica >= replicas_.size()) return;
  replicas_[replica].asleep = asleep;
  SettleOf(replica, now);
}

void GpuAccounts::SetDown(size_t replica, bool down, Instant now) {
  if (replica >= replicas_.size()) return;
  replicas_[replica].down = down;
  SettleOf(replica, now);
}

void GpuAccounts::ChangeWaiting(ModelId model, int change, Instant now) {
  if (model.value() >= waiting_.size()) return;
  int64_t& waiting = waiting_[model.value()];
  const bool shown = waiting > 0;
  waiting += change;
  all_waiting_ += change;
  if (shown == (waiting > 0)) return;
  // The demand is nothing to a GPU that works.
  for (Gpu& gpu : gpus_) {
    if (!gpu.working) Settle(gpu, now);
  }
}

void GpuAccounts::SettleAll(Instant now) {
  for (Gpu& gpu : gpus_) Settle(gpu, now);
}

void GpuAccounts::SettleOf(size_t replica, Instant now) {
  for (const uint32_t gpu : replicas_[replica].place.gpus) Settle(gpus_[gpu], now);
}

void GpuAccounts::Settle(Gpu& gpu, Instant now) {
  const Instant until = std::min(now, end_);
  if (until > gpu.since) {
    const double passed = (until - gpu.since).seconds();
    for (size_t i = 0; i < kGpuStates; ++i) gpu.time.seconds[i] += passed * gpu.parts[i];
    if (!gpu.replicas.empty()) gpu.time.cost += passed / 3600 * gpu.price;
    gpu.since = until;
  }
  Divide(gpu);
}

void GpuAccounts::Divide(Gpu& gpu) const {
  ReplicaWork work;
  for (const size_t index : gpu.replicas) {
    const Replica& replica = replicas_[index];
    if (replica.down || replica.asleep) continue;
    work.on_time += replica.work.on_time;
    work.late += replica.work.late;
    work.for_nobody += replica.work.for_nobody;
  }
  gpu.parts.fill(0);
  const int64_t all = work.on_time + work.late + work.for_nobody;
  gpu.working = all > 0;
  const auto part = [&](GpuState state) -> double& { return gpu.parts[static_cast<size_t>(state)]; };
  if (gpu.working) {
    part(GpuState::kSlow) = static_cast<double>(work.late) / static_cast<double>(all);
    part(GpuState::kForNobody) = static_cast<double>(work.for_nobody) / static_cast<double>(all);
    part(GpuState::kProductive) = 1 - part(GpuState::kSlow) - part(GpuState::kForNobody);
  } else if (!gpu.replicas.empty()) {
    part(RestOf(gpu)) = 1;
  }
}

GpuState GpuAccounts::RestOf(const Gpu& gpu) const {
  bool asleep = true;
  bool down = true;
  bool wanted = false;
  for (const size_t index : gpu.replicas) {
    const Replica& replica = replicas_[index];
    asleep = asleep && (replica.asleep || replica.down);
    down = down && replica.down;
    for (const ModelId model : replica.place.models) {
      wanted = wanted || (model.value() < waiting_.size() && waiting_[model.value()] > 0);
    }
  }
  if (down) return GpuState::kDown;
  if (wanted) return GpuState::kBlocked;
  if (asleep) return GpuState::kAsleep;
  return all_waiting_ > 0 ? GpuState::kElsewhere : GpuState::kIdle;
}

}  // namespace penstock
