#include "bench/simulation/engines/gpu_accounts.h"

#include <algorithm>

namespace penstock::bench {

const char* GpuStateName(GpuState state) {
  constexpr std::array<const char*, kGpuStates> kNames = {"productive", "slow",   "blocked", "elsewhere",
                                                          "idle",       "asleep", "down"};
  return kNames[static_cast<size_t>(state)];
}

GpuAccounts::GpuAccounts(const Fleet& fleet, const std::vector<std::vector<int>>& replica_gpus, size_t gpus,
                         Duration window)
    : end_(Instant() + window), gpus_(gpus), waiting_(fleet.models.size(), 0) {
  for (size_t i = 0; i < replica_gpus.size(); ++i) {
    Replica& replica = replicas_.emplace_back();
    replica.gpus = replica_gpus[i];
    replica.models = fleet.replicas[i].models;
    for (const int gpu : replica.gpus) gpus_[gpu].replicas.push_back(i);
  }
}

void GpuAccounts::SetStepping(size_t replica, bool stepping, bool slow, Instant now) {
  replicas_[replica].stepping = stepping;
  replicas_[replica].slow = slow;
  SettleOf(replica, now);
}

void GpuAccounts::SetAsleep(size_t replica, bool asleep, Instant now) {
  replicas_[replica].asleep = asleep;
  SettleOf(replica, now);
}

void GpuAccounts::SetDown(size_t replica, bool down, Instant now) {
  replicas_[replica].down = down;
  SettleOf(replica, now);
}

void GpuAccounts::ChangeWaiting(ModelId model, int change, Instant now) {
  int64_t& waiting = waiting_[model.value()];
  const bool shown = waiting > 0;
  waiting += change;
  all_waiting_ += change;
  if (shown != (waiting > 0)) SettleAll(now);
}

void GpuAccounts::SettleAll(Instant now) {
  for (Gpu& gpu : gpus_) Settle(gpu, now);
}

void GpuAccounts::SettleOf(size_t replica, Instant now) {
  for (const int gpu : replicas_[replica].gpus) Settle(gpus_[gpu], now);
}

void GpuAccounts::Settle(Gpu& gpu, Instant now) {
  const Instant until = std::min(now, end_);
  if (until > gpu.since) gpu.seconds[static_cast<size_t>(gpu.state)] += (until - gpu.since).seconds();
  gpu.since = std::max(gpu.since, until);
  gpu.state = StateOf(gpu);
}

GpuState GpuAccounts::StateOf(const Gpu& gpu) const {
  bool stepping = false;
  bool fast = false;
  bool asleep = !gpu.replicas.empty();
  bool down = !gpu.replicas.empty();
  bool wanted = false;
  for (const size_t index : gpu.replicas) {
    const Replica& replica = replicas_[index];
    stepping = stepping || replica.stepping;
    fast = fast || (replica.stepping && !replica.slow);
    asleep = asleep && (replica.asleep || replica.down);
    down = down && replica.down;
    for (const ModelId model : replica.models) wanted = wanted || waiting_[model.value()] > 0;
  }
  if (stepping) return fast ? GpuState::kProductive : GpuState::kSlow;
  if (down) return GpuState::kDown;
  if (wanted) return GpuState::kBlocked;
  if (asleep) return GpuState::kAsleep;
  return all_waiting_ > 0 ? GpuState::kElsewhere : GpuState::kIdle;
}

}  // namespace penstock::bench
