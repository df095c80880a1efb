// Identities shared by the model, the core and the edges.
//
// Replica, pool, model and class ids are positions in the fleet's lists. The lists only grow while a process runs; a
// removed replica stays as a tombstone. So an id that crosses a reload still names the same thing.
#ifndef PENSTOCK_BASE_IDS_H_
#define PENSTOCK_BASE_IDS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/string_view.h"

namespace penstock {

template <class Tag, class Number>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(Number value) : value_(value) {}
  constexpr Number value() const { return value_; }
  constexpr auto operator<=>(const Id&) const = default;
  template <class H>
  friend H AbslHashValue(H state, Id id) {
    return H::combine(std::move(state), id.value_);
  }

 private:
  Number value_ = 0;
};

using RequestId = Id<struct RequestTag, uint64_t>;
using LeaseId = Id<struct LeaseTag, uint64_t>;
using TenantId = Id<struct TenantTag, uint64_t>;  // A hash of the key; zero is the anonymous tenant.
using ReplicaId = Id<struct ReplicaTag, uint32_t>;
using PoolId = Id<struct PoolTag, uint32_t>;
using ModelId = Id<struct ModelTag, uint32_t>;
using ClassId = Id<struct ClassTag, uint32_t>;

// The node of a GPU: the part of its name before the last slash, as node1 of node1/gpu0. Empty: the name tells none.
inline absl::string_view NodeOf(absl::string_view gpu) {
  const size_t slash = gpu.rfind('/');
  return slash == absl::string_view::npos ? absl::string_view() : gpu.substr(0, slash);
}

}  // namespace penstock

#endif  // PENSTOCK_BASE_IDS_H_
