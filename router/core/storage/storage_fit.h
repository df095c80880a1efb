// The fit of a request that needs storage to what a node has left. Pure.
//
// A request of a need fits a well node that has kReserve of its storage and its I/O CPU left beside it. While requests
// of a larger need are about, the tightest fit is preferred, which leaves large residuals to them. Otherwise the node
// with most left is preferred, because shared storage is faster there.
#ifndef PENSTOCK_ROUTER_CORE_STORAGE_STORAGE_FIT_H_
#define PENSTOCK_ROUTER_CORE_STORAGE_STORAGE_FIT_H_

#include <algorithm>

#include "router/core/contract/node_residual.h"
#include "router/core/contract/storage_need.h"

namespace penstock {

// Thousandths of a node's storage that a request takes.
constexpr int StorageOf(StorageNeed need) {
  return need == StorageNeed::kHeavy ? 500 : need == StorageNeed::kSome ? 200 : 0;
}

struct StorageFit {
  static constexpr double kReserve = 0.2;
  static constexpr double kIoCpu = 0.5;           // I/O CPU that a request takes, over the storage that it takes.
  static constexpr double kLeast = 0.05;          // A node with less left counts as one with so much.
  static constexpr double kLeastOfOthers = 0.01;  // It is least where no request is on its way.

  StorageNeed need = StorageNeed::kNone;
  bool larger_about = false;  // Requests of a larger need are about.

  // `under_way`: the part of the storage that other requests are about to use. `well`: nothing derates the node.
  bool Fits(const NodeResidual& left, double under_way, bool well) const {
    return well && left.storage - under_way - Part() >= kReserve && left.io_cpu - kIoCpu * Part() >= kReserve;
  }
  // Times that a replica of the node counts as fuller; at least 1. Reads share what is left.
  double FullerBy(const NodeResidual& left, double under_way, bool well) const {
    if (need == StorageNeed::kNone) return 1;
    // Pressure without a request on its way is that of others.
    const double least = under_way > 0 ? kLeast : kLeastOfOthers;
    const double rate = std::max(least, std::min({1.0, left.storage, left.io_cpu}));
    const double proportion = (1 + under_way / Part()) / rate;
    if (!larger_about) return proportion;
    if (!Fits(left, under_way, well)) return 2 * proportion;
    return 1 + left.storage - under_way - Part();
  }
  // The part of a node's storage that a request of the need takes.
  double Part() const { return StorageOf(need) / 1000.0; }
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_STORAGE_STORAGE_FIT_H_
