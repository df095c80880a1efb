// The promise of the GPU accounts under any events: the states of each GPU add up to its time in the fleet.
#ifndef PENSTOCK_TESTS_CORE_GPU_TIME_CHECK_H_
#define PENSTOCK_TESTS_CORE_GPU_TIME_CHECK_H_

#include <cmath>
#include <string>
#include <vector>

#include "router/core/accounts/gpu_accounts.h"
#include "router/core/accounts/work_book.h"

namespace penstock::testing {

class GpuTimeCheck {
 public:
  // Events and actions of a core, in order. Every few events a sample finds some streams overdue.
  void Take(const Event& event, Instant now, const std::vector<Action>& actions) {
    for (size_t gpu = 0; gpu < wall_.size(); ++gpu) wall_[gpu] += present_[gpu] ? (now - last_).seconds() : 0;
    last_ = now;
    if (const auto* changed = std::get_if<FleetChanged>(&event)) {
      accounts_.Place(PlacesOf(changed->fleet), changed->fleet.models.size(), now);
      wall_.resize(accounts_.gpus(), 0);
      present_.assign(wall_.size(), false);
      for (const ReplicaPlace& place : PlacesOf(changed->fleet)) {
        for (const uint32_t gpu : place.gpus) present_[gpu] = true;
      }
    }
    book_.Observe(event, now, actions);
    if (++events_ % 5 == 0) book_.Sample(std::vector<int64_t>{events_ % 3, events_ % 2}, WaitsAt(events_), now);
  }

  // Empty while the promise holds.
  std::string Broken() {
    accounts_.SettleAll(last_);
    for (size_t gpu = 0; gpu < wall_.size(); ++gpu) {
      const GpuTime& time = accounts_.time(gpu);
      if (std::abs(time.total() - wall_[gpu]) > 1e-6 * (1 + wall_[gpu])) return "the states add up to wall time";
      for (const double seconds : time.seconds) {
        if (seconds < -1e-6) return "a state has no negative time";
      }
    }
    return "";
  }
  // Requests that wait or run by its book.
  size_t requests() const { return book_.requests(); }

 private:
  // Any set of models, waited for or not.
  static MemoryWaits WaitsAt(int64_t event) {
    MemoryWaits waits;
    for (uint32_t model = 0; model < 3; ++model) {
      if ((event / 5 + model) % 3 != 0) waits.models.push_back(ModelId(model));
    }
    return waits;
  }

  GpuAccounts accounts_;
  WorkBook book_{accounts_};
  std::vector<double> wall_;  // Seconds in the fleet of each GPU.
  std::vector<bool> present_;
  Instant last_;
  int64_t events_ = 0;
};

}  // namespace penstock::testing

#endif  // PENSTOCK_TESTS_CORE_GPU_TIME_CHECK_H_
