// The states of GPU-seconds and the sums that metrics, pages and reports show. Values.
#ifndef PENSTOCK_ROUTER_CORE_ACCOUNTS_GPU_REPORT_H_
#define PENSTOCK_ROUTER_CORE_ACCOUNTS_GPU_REPORT_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace penstock {

enum class GpuState : uint8_t { kProductive, kSlow, kForNobody, kBlocked, kElsewhere, kIdle, kAsleep, kDown };
inline constexpr size_t kGpuStates = 8;
inline constexpr std::array<absl::string_view, kGpuStates> kGpuStateLabels = {
    "productive", "slow", "for_nobody", "blocked", "elsewhere", "idle", "asleep", "down"};
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
  double waiting_for_input() const {
    return (*this)[GpuState::kBlocked] + (*this)[GpuState::kElsewhere] + (*this)[GpuState::kIdle];
  }
  double productive_hours() const { return (*this)[GpuState::kProductive] / 3600; }

  GpuTime& operator+=(const GpuTime& other) {
    for (size_t i = 0; i < kGpuStates; ++i) seconds[i] += other.seconds[i];
    cost += other.cost;
    return *this;
  }
};

struct GpuReport {
  struct Gpu {
    std::string name;
    GpuTime time;
    double price = 0;     // An hour costs so much; 0: not known.
    bool present = true;  // It is in the fleet.
  };
  std::vector<Gpu> gpus;          // Positions are those of Fleet::gpus. Without a name: a vacant place.
  GpuTime gone;                   // The time of GPUs whose places were given up.
  int64_t recomputed_tokens = 0;  // Prompts and answers of begun requests that another run had to read again.

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
