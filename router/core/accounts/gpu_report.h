// The states of GPU-seconds and the sums that metrics, pages and reports show. Values.
#ifndef PENSTOCK_ROUTER_CORE_ACCOUNTS_GPU_REPORT_H_
#define PENSTOCK_ROUTER_CORE_ACCOUNTS_GPU_REPORT_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/units.h"

namespace penstock {

enum class GpuState : uint8_t {
  kProductive,
  kFull,
  kSlow,
  kForNobody,
  kBlocked,
  kWaiting,
  kElsewhere,
  kIdle,
  kAsleep,
  kDown
};
inline constexpr size_t kGpuStates = 10;
inline constexpr std::array<absl::string_view, kGpuStates> kGpuStateLabels = {
    "productive", "full", "slow", "for_nobody", "blocked", "waiting", "elsewhere", "idle", "asleep", "down"};
constexpr absl::string_view LabelOf(GpuState state) { return kGpuStateLabels[static_cast<size_t>(state)]; }

// The time of one GPU, or of several.
struct GpuTime {
  std::array<double, kGpuStates> seconds{};  // Positions are those of GpuState.
  double cost = 0;                           // Price x time.

  double operator[](GpuState state) const { return seconds[static_cast<size_t>(state)]; }
  double total() const {
    double sum = 0;
    for (const double part : seconds) sum += part;
    return sum;
  }
  // Awake, with nothing to compute.
  double waiting_for_input() const { return queued() + (*this)[GpuState::kElsewhere] + (*this)[GpuState::kIdle]; }
  // Nothing runs although requests for its models wait.
  double queued() const { return (*this)[GpuState::kBlocked] + (*this)[GpuState::kWaiting]; }
  // Requests run on time, whether memory holds others back or not.
  double on_time() const { return (*this)[GpuState::kProductive] + (*this)[GpuState::kFull]; }
  // Memory holds back requests for its models.
  double short_of_memory() const { return (*this)[GpuState::kFull] + (*this)[GpuState::kBlocked]; }
  double productive_hours() const { return on_time() / 3600; }

  GpuTime& operator+=(const GpuTime& other) {
    for (size_t i = 0; i < kGpuStates; ++i) seconds[i] += other.seconds[i];
    cost += other.cost;
    return *this;
  }
};

// Memory of one pool that is free and fits nobody while requests for it wait for memory. Amounts in the pool's unit.
struct StrandedMemory {
  std::string name;
  bool in_bytes = true;
  bool waited_for = false;    // At the last sample, a request waited for memory of a model that the pool serves.
  double now = 0;             // At the last sample.
  double amount_seconds = 0;  // Its sum over time.
  double seconds = 0;         // For which requests waited so.
};

struct GpuReport {
  struct Gpu {
    std::string name;
    GpuTime time;
    double price = 0;     // An hour costs so much; 0: not known.
    bool present = true;  // It is in the fleet.
    // Its memory beside the weights and the pools of its replicas; nullopt: not known.
    std::optional<Bytes> outside_pools = std::nullopt;
  };
  std::vector<Gpu> gpus;              // Positions are those of Fleet::gpus. Without a name: a vacant place.
  GpuTime gone;                       // The time of GPUs whose places were given up.
  std::vector<StrandedMemory> pools;  // Positions are those of Fleet::pools. Without a name: a vacant place.
  int64_t recomputed_tokens = 0;      // Prompts and answers of begun requests that another run had to read again.

  GpuTime fleet() const {
    GpuTime sum = gone;
    for (const Gpu& gpu : gpus) sum += gpu.time;
    return sum;
  }
  // An hour of the GPUs in the fleet costs so much; 0: one of them has no price.
  double price() const {
    double sum = 0;
    for (const Gpu& gpu : gpus) {
      if (!gpu.present) continue;
      if (gpu.price <= 0) return 0;
      sum += gpu.price;
    }
    return sum;
  }
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_ACCOUNTS_GPU_REPORT_H_
