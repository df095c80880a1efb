#include "config/values/gpu_slice.h"

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace penstock {
namespace {

constexpr double kComputeParts = 7;
constexpr double kMemoryParts = 8;
// Profiles round the memory of a part to whole gigabytes, up or down.
constexpr double kRounding = 0.25;

struct Profile {
  int compute = 0;  // Sevenths.
  int memory = 0;   // Eighths.
};
constexpr std::array<Profile, 6> kProfiles = {{{1, 1}, {1, 2}, {2, 2}, {3, 4}, {4, 4}, {7, 8}}};

// The number before `unit`; 0: there is none.
int NumberBefore(absl::string_view text, absl::string_view unit) {
  int number = 0;
  return absl::ConsumeSuffix(&text, unit) && absl::SimpleAtoi(text, &number) ? number : 0;
}

}  // namespace

absl::StatusOr<SliceParts> SlicePartsOf(absl::string_view profile, Bytes device_memory) {
  // Media extensions such as +me change neither size.
  const std::pair<absl::string_view, absl::string_view> halves =
      absl::StrSplit(profile.substr(0, profile.find('+')), absl::MaxSplits('.', 1));
  const int compute = NumberBefore(halves.first, "g");
  const int gigabytes = NumberBefore(halves.second, "gb");
  if (compute <= 0 || gigabytes <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", profile, "\" is no MIG profile; write sevenths of the compute and memory, as 3g.40gb"));
  }
  const double part = device_memory.AsDouble() / 1e9 / kMemoryParts;
  std::vector<std::string> known;
  for (const Profile& each : kProfiles) {
    const double memory = part * each.memory;
    if (each.compute == compute && std::abs(gigabytes - memory) <= kRounding * memory) {
      return SliceParts{compute / kComputeParts, each.memory / kMemoryParts};
    }
    known.push_back(absl::StrFormat("%dg.%.0fgb", each.compute, memory));
  }
  return absl::InvalidArgumentError(absl::StrFormat("%s is no slice of a device of %.0fGB; it has %s", profile,
                                                    device_memory.AsDouble() / 1e9, absl::StrJoin(known, " ")));
}

GpuKind SpeedOf(const GpuConfig& gpu) {
  GpuKind speed = gpu.kind;
  speed.bandwidth_gb_per_s *= gpu.memory_part * gpu.cores;
  speed.bf16_tflops *= gpu.compute_part * gpu.cores;
  speed.fp8_tflops *= gpu.compute_part * gpu.cores;
  return speed;
}

std::string PartText(const GpuConfig& gpu) {
  if (gpu.slice.empty() && gpu.cores >= 1) return "";
  const GpuKind speed = SpeedOf(gpu);
  const std::string part = gpu.slice.empty() ? absl::StrFormat("%.0f %% of the time", 100 * gpu.cores)
                                             : absl::StrCat("the slice ", gpu.slice);
  return absl::StrFormat("is %s of one %s: %.1fGB, %.0fGB/s, %.0f bf16 TFLOP/s; other parts do not slow it", part,
                         gpu.kind.name, gpu.kind.memory.AsDouble() / 1e9, speed.bandwidth_gb_per_s, speed.bf16_tflops);
}

}  // namespace penstock
