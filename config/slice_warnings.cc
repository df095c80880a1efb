#include "config/slice_warnings.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/ids.h"

namespace penstock {
namespace {

constexpr std::array<absl::string_view, 5> kKindsWithMig = {"a100-40", "a100-80", "h100", "h200", "b200"};
// Parts are sevenths and eighths, which are no round numbers.
constexpr double kWhole = 1 + 1e-6;

bool HasMig(const GpuConfig& gpu) {
  const GpuKind* kind = FindGpuKind(gpu.kind.name);
  return kind != nullptr && std::find(kKindsWithMig.begin(), kKindsWithMig.end(), kind->name) != kKindsWithMig.end();
}

// The slices of one device together.
struct Device {
  std::vector<absl::string_view> ids;
  double compute = 0;
  double memory = 0;
};

}  // namespace

std::vector<std::string> SliceWarnings(const Config& config) {
  std::vector<std::string> warnings;
  std::map<std::pair<absl::string_view, absl::string_view>, Device> devices;
  for (const GpuConfig& gpu : config.gpus) {
    if (gpu.slice.empty()) continue;
    if (!HasMig(gpu)) {
      warnings.push_back(absl::StrCat("gpus: ", gpu.id, ": ", gpu.kind.name, " has no MIG: no device has the slice ",
                                      gpu.slice, "; for a part of its time and memory give cores and memory"));
      continue;
    }
    const absl::string_view name = NodeOf(gpu.id);
    const bool is_node = std::any_of(config.nodes.begin(), config.nodes.end(),
                                     [name](const NodeConfig& node) { return node.id == name; });
    if (name.empty() || is_node) continue;
    Device& device = devices[{name, gpu.kind.name}];
    device.ids.push_back(gpu.id);
    device.compute += gpu.compute_part;
    device.memory += gpu.memory_part;
  }
  for (const auto& [name, device] : devices) {
    if (device.compute <= kWhole && device.memory <= kWhole) continue;
    warnings.push_back(absl::StrFormat(
        "gpus: %s are %.0f sevenths of the compute and %.0f eighths of the memory of one %s; slices of other devices "
        "need another name before the last slash",
        absl::StrJoin(device.ids, ", "), 7 * device.compute, 8 * device.memory, name.second));
  }
  return warnings;
}

}  // namespace penstock
