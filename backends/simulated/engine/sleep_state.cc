#include "backends/simulated/engine/sleep_state.h"

#include <algorithm>
#include <utility>

namespace penstock::simulated {
namespace {

// The router computes the same sums from other figures, which are rounded to blocks.
constexpr double kTolerance = 1.01;

}  // namespace

SleepState::SleepState(Bytes resident, std::vector<DeviceMemory*> devices, Duration wake)
    : has_verbs_(true), asleep_(true), resident_(resident), devices_(std::move(devices)), wake_(wake) {
  Wake();
}

bool SleepState::Fits() const {
  return std::all_of(devices_.begin(), devices_.end(), [this](const DeviceMemory* device) {
    return (device->used + resident_).AsDouble() <= device->size.AsDouble() * kTolerance;
  });
}

void SleepState::Sleep() {
  if (std::exchange(asleep_, true)) return;
  for (DeviceMemory* device : devices_) device->used = device->used - resident_;
}

bool SleepState::Wake() {
  if (!asleep_) return true;
  if (!Fits()) return false;
  for (DeviceMemory* device : devices_) device->used = device->used + resident_;
  asleep_ = false;
  return true;
}

}  // namespace penstock::simulated
