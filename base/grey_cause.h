// Why a replica that answers is slower than it should be. Values; the labels of metrics and pages name them.
#ifndef PENSTOCK_BASE_GREY_CAUSE_H_
#define PENSTOCK_BASE_GREY_CAUSE_H_

#include <cstddef>
#include <cstdint>

namespace penstock {

enum class GreyCause : uint8_t {
  kNone,
  kReplica,  // Its steps are slow, and those of its neighbours are not.
  kGpu,      // The steps of all replicas on its GPUs are slow.
  kNode,     // So are those on the other GPUs of its node.
  kStall,    // It stands still, or does so again and again.
};
inline constexpr size_t kGreyCauses = 5;

// The name of a cause in metrics, pages and reports.
constexpr const char* GreyCauseName(GreyCause cause) {
  constexpr const char* kNames[kGreyCauses] = {"none", "replica", "gpu", "node", "stall"};
  return kNames[static_cast<size_t>(cause)];
}

}  // namespace penstock

#endif  // PENSTOCK_BASE_GREY_CAUSE_H_
