#include "router/core/accounts/gpu_accounts.h"

#include <algorithm>
#include <map>
#include <utility>

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
  waits_for_memory_.resize(waiting_.size(), false);
  for (Gpu& gpu : gpus_) gpu.replicas.clear();
  for (size_t i = 0; i < replicas.size(); ++i) {
    replicas_[i].place = replicas[i];
    for (const uint32_t gpu : replicas[i].gpus) {
      if (gpu >= gpus_.size()) gpus_.resize(gpu + 1);
      gpus_[gpu].replicas.push_back(i);
    }
  }
  FindKinds(now);
  SettleAll(now);
}

void GpuAccounts::FindKinds(Instant now) {
  std::map<std::vector<uint32_t>, size_t> known;
  kinds_.clear();
  kinds_of_.assign(waiting_.size(), {});
  for (Gpu& gpu : gpus_) {
    std::vector<uint32_t> models;
    for (const size_t index : gpu.replicas) {
      for (const ModelId model : replicas_[index].place.models) models.push_back(model.value());
    }
    std::sort(models.begin(), models.end());
    models.erase(std::unique(models.begin(), models.end()), models.end());
    const auto [found, fresh] = known.try_emplace(std::move(models), kinds_.size());
    gpu.kind = found->second;
    if (!fresh) continue;
    Kind& kind = kinds_.emplace_back();
    for (const uint32_t model : found->first) {
      if (model >= waiting_.size()) continue;
      kinds_of_[model].push_back(gpu.kind);
      if (waiting_[model] > 0) ++kind.wanted;
      if (waits_for_memory_[model]) ++kind.memory;
    }
    kind.demand.Set(kind.wanted > 0, std::min(now, end_));
    kind.shortage.Set(kind.memory > 0, std::min(now, end_));
  }
  // The clocks are new: nothing of them is counted yet.
  for (Gpu& gpu : gpus_) gpu.wanted = gpu.memory = Duration();
}

void GpuAccounts::Vacate(size_t gpu, Instant now) {
  if (gpu >= gpus_.size()) return;
  Settle(gpus_[gpu], now);
  gone_ += std::exchange(gpus_[gpu].time, GpuTime());
  gpus_[gpu].price = 0;
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
  if (shown) SetMemoryWait(model, false, now);
  const Instant until = std::min(now, end_);
  any_wait_.Set(all_waiting_ > 0, until);
  for (const size_t index : kinds_of_[model.value()]) {
    Kind& kind = kinds_[index];
    kind.wanted += shown ? -1 : 1;
    kind.demand.Set(kind.wanted > 0, until);
  }
}

void GpuAccounts::SetMemoryWaits(const std::vector<ModelId>& models, Instant now) {
  for (const ModelId model : memory_waits_) {
    if (!std::binary_search(models.begin(), models.end(), model)) SetMemoryWait(model, false, now);
  }
  for (const ModelId model : models) SetMemoryWait(model, true, now);
  memory_waits_ = models;
}

void GpuAccounts::SetMemoryWait(ModelId model, bool waits, Instant now) {
  if (model.value() >= waiting_.size()) return;
  waits = waits && waiting_[model.value()] > 0;
  if (waits_for_memory_[model.value()] == waits) return;
  waits_for_memory_[model.value()] = waits;
  for (const size_t index : kinds_of_[model.value()]) {
    Kind& kind = kinds_[index];
    kind.memory += waits ? 1 : -1;
    kind.shortage.Set(kind.memory > 0, std::min(now, end_));
  }
}

void GpuAccounts::SettleSome(size_t first, size_t count, Instant now) {
  const size_t end = std::min(gpus_.size(), first + std::min(count, gpus_.size()));
  for (size_t i = first; i < end; ++i) Settle(gpus_[i], now);
}

void GpuAccounts::SettleOf(size_t replica, Instant now) {
  for (const uint32_t gpu : replicas_[replica].place.gpus) Settle(gpus_[gpu], now);
}

void GpuAccounts::Settle(Gpu& gpu, Instant now) {
  const Instant until = std::min(now, end_);
  if (until > gpu.since) {
    Count(gpu, until - gpu.since, until);
    gpu.since = until;
  }
  if (gpu.kind < kinds_.size()) {
    gpu.wanted = kinds_[gpu.kind].demand.At(until);
    gpu.memory = kinds_[gpu.kind].shortage.At(until);
  }
  gpu.any_wait = any_wait_.At(until);
  Divide(gpu);
}

void GpuAccounts::Count(Gpu& gpu, Duration passed, Instant until) const {
  const auto add = [&gpu](GpuState state, double seconds) { gpu.time.seconds[static_cast<size_t>(state)] += seconds; };
  if (gpu.mode == Mode::kLeft) return;
  gpu.time.cost += passed.seconds() / 3600 * gpu.price;
  const Duration shortage = std::clamp(kinds_[gpu.kind].shortage.At(until) - gpu.memory, Duration(), passed);
  if (gpu.mode == Mode::kWorks) {
    add(GpuState::kSlow, passed.seconds() * gpu.slow);
    add(GpuState::kForNobody, passed.seconds() * gpu.for_nobody);
    const double on_time = 1 - gpu.slow - gpu.for_nobody;
    add(GpuState::kFull, shortage.seconds() * on_time);
    return add(GpuState::kProductive, (passed - shortage).seconds() * on_time);
  }
  if (gpu.mode == Mode::kDown) return add(GpuState::kDown, passed.seconds());
  // Where a request waits for memory, one waits.
  const Duration wanted = std::clamp(kinds_[gpu.kind].demand.At(until) - gpu.wanted, shortage, passed);
  add(GpuState::kBlocked, shortage.seconds());
  add(GpuState::kWaiting, (wanted - shortage).seconds());
  if (gpu.mode == Mode::kAsleep) return add(GpuState::kAsleep, (passed - wanted).seconds());
  const Duration any = std::clamp(any_wait_.At(until) - gpu.any_wait, wanted, passed);
  add(GpuState::kElsewhere, (any - wanted).seconds());
  add(GpuState::kIdle, (passed - any).seconds());
}

void GpuAccounts::Divide(Gpu& gpu) const {
  ReplicaWork work;
  bool asleep = true;
  bool down = true;
  for (const size_t index : gpu.replicas) {
    const Replica& replica = replicas_[index];
    asleep = asleep && (replica.asleep || replica.down);
    down = down && replica.down;
    if (replica.down || replica.asleep) continue;
    work.on_time += replica.work.on_time;
    work.late += replica.work.late;
    work.for_nobody += replica.work.for_nobody;
  }
  const int64_t all = work.on_time + work.late + work.for_nobody;
  if (gpu.replicas.empty()) {
    gpu.mode = Mode::kLeft;
  } else if (all > 0) {
    gpu.mode = Mode::kWorks;
    gpu.slow = static_cast<double>(work.late) / static_cast<double>(all);
    gpu.for_nobody = static_cast<double>(work.for_nobody) / static_cast<double>(all);
  } else if (down) {
    gpu.mode = Mode::kDown;
  } else {
    gpu.mode = asleep ? Mode::kAsleep : Mode::kRests;
  }
}

}  // namespace penstock
