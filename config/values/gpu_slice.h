// A GPU that is a part of a device: a MIG slice, or what a HAMi limit leaves.
//
// A MIG slice has memory, bandwidth and compute of its own, so slices of one device do not slow each other. Its profile
// <g>g.<memory>gb names sevenths of the compute; the memory and its bandwidth come in eighths. HAMi keeps a container
// to a part of the device's time, so all rates fall alike. Pure functions of the configuration.
#ifndef PENSTOCK_CONFIG_VALUES_GPU_SLICE_H_
#define PENSTOCK_CONFIG_VALUES_GPU_SLICE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/units.h"
#include "config/values/config_values.h"
#include "kvmodel/step_coefficients.h"

namespace penstock {

// The parts of a device that a slice has.
struct SliceParts {
  double compute = 1;
  double memory = 1;  // The part of its bytes, and of its bandwidth.
};

// The parts of the profile on a device with so much memory. InvalidArgument: no device has such a slice, in words.
absl::StatusOr<SliceParts> SlicePartsOf(absl::string_view profile, Bytes device_memory);

// The rates that the step times of this GPU follow, with its own memory.
GpuKind SpeedOf(const GpuConfig& gpu);

// The size and the rates of a GPU that is a part of a device, in words; empty: it is a whole device.
std::string PartText(const GpuConfig& gpu);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_VALUES_GPU_SLICE_H_
