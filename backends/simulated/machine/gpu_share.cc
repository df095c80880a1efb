#include "backends/simulated/machine/gpu_share.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace penstock::simulated {
namespace {

struct CapRow {
  double share;
  double decode;
  double prefill;
};

constexpr std::array<CapRow, 7> kMeasuredCaps = {{{0.3, 1.54, 2.46},
                                                  {0.4, 1.38, 1.97},
                                                  {0.5, 1.19, 1.62},
                                                  {0.6, 1.11, 1.35},
                                                  {0.7, 1.07, 1.22},
                                                  {0.8, 1.04, 1.11},
                                                  {1.0, 1.00, 1.00}}};

CapRow CapAt(double share) {
  const CapRow& least = kMeasuredCaps.front();
  if (share <= least.share) {
    const double ratio = share / least.share;
    return {share, least.decode * std::pow(ratio, -0.35), least.prefill * std::pow(ratio, -0.75)};
  }
  const auto above =
      std::find_if(kMeasuredCaps.begin(), kMeasuredCaps.end(), [&](const CapRow& row) { return row.share >= share; });
  if (above == kMeasuredCaps.end()) return kMeasuredCaps.back();
  const CapRow& below = *(above - 1);
  const double part = (share - below.share) / (above->share - below.share);
  return {share, below.decode + part * (above->decode - below.decode),
          below.prefill + part * (above->prefill - below.prefill)};
}

}  // namespace

StepWork WorkOf(const StepCoefficients& coefficients, const StepLoad& load, double factor) {
  const double kv = load.kv.AsDouble();
  const double ms = coefficients.StepMs(load.sequences, kv, load.prefill);
  StepWork work;
  work.alone = Duration::Seconds(ms * factor * 1e-3);
  if (ms <= 0) return work;
  work.memory_share = std::clamp((coefficients.a + coefficients.c * kv * 1e-3) / ms, 0.0, 1.0);
  work.prefill_share = std::clamp(coefficients.PrefillMs(load.prefill) / ms, 0.0, 1.0);
  return work;
}

double MpsCap(double sm_share, double prefill_share) {
  const CapRow cap = CapAt(sm_share);
  return cap.decode + prefill_share * (cap.prefill - cap.decode);
}

int GpuShare::AddGpu(Sharing sharing) {
  gpus_.push_back({sharing, {}, 0, 0});
  return static_cast<int>(gpus_.size()) - 1;
}

int GpuShare::AddReplica(const std::vector<int>& gpus) {
  const int index = static_cast<int>(replicas_.size());
  Replica replica;
  replica.gpus = gpus;
  for (const int gpu : gpus) {
    for (const int other : gpus_[gpu].replicas) {
      if (std::find(replica.neighbours.begin(), replica.neighbours.end(), other) != replica.neighbours.end()) continue;
      replica.neighbours.push_back(other);
      replicas_[other].neighbours.push_back(index);
    }
    gpus_[gpu].replicas.push_back(index);
  }
  replicas_.push_back(std::move(replica));
  return index;
}

void GpuShare::Begin(int index, const StepWork& work, Instant now, std::vector<StepEnd>& moved) {
  Replica& replica = replicas_[index];
  assert(!replica.busy);
  replica.busy = true;
  replica.work = work;
  replica.left_ns = static_cast<double>(work.alone.nanoseconds());
  replica.settled = now;
  replica.slowdown = 1;
  Occupy(replica, +1);
  Settle(index, now, moved);
  for (const int neighbour : replica.neighbours) Settle(neighbour, now, moved);
}

void GpuShare::End(int index, Instant now, std::vector<StepEnd>& moved) {
  Replica& replica = replicas_[index];
  assert(replica.busy);
  Occupy(replica, -1);
  replica.busy = false;
  replica.end = Instant::Never();
  for (const int neighbour : replica.neighbours) Settle(neighbour, now, moved);
}

void GpuShare::Occupy(const Replica& replica, int sign) {
  for (const int gpu : replica.gpus) {
    gpus_[gpu].busy += sign;
    gpus_[gpu].demand += sign * replica.work.memory_share;
    // Rounding errors would add up over millions of steps.
    if (gpus_[gpu].busy == 0) gpus_[gpu].demand = 0;
  }
}

double GpuShare::Slowdown(const Replica& replica) const {
  double slowdown = 1;
  for (const int index : replica.gpus) {
    const Gpu& gpu = gpus_[index];
    const double here =
        gpu.sharing == Sharing::kTimeSlicing
            ? gpu.busy
            : std::max(MpsCap(1.0 / static_cast<double>(gpu.replicas.size()), replica.work.prefill_share), gpu.demand);
    slowdown = std::max(slowdown, here);
  }
  return slowdown;
}

void GpuShare::Settle(int index, Instant now, std::vector<StepEnd>& moved) {
  Replica& replica = replicas_[index];
  if (!replica.busy) return;
  const double passed = std::max<double>(0, static_cast<double>((now - replica.settled).nanoseconds()));
  replica.left_ns = std::max(0.0, replica.left_ns - passed / replica.slowdown);
  replica.settled = std::max(now, replica.settled);
  replica.slowdown = Slowdown(replica);
  const Instant end = replica.settled + Duration::Nanoseconds(std::llround(replica.left_ns * replica.slowdown));
  if (end == replica.end) return;
  replica.end = end;
  moved.push_back({index, end});
}

}  // namespace penstock::simulated
