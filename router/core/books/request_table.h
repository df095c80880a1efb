// All open requests by id. Owns them.
//
// Invariant: a request is in the table from its acceptance until it is refused or closed. Ids are never reused. The
// table is never iterated, because the order of a hash table is arbitrary. Find, Add and Erase are O(1).
#ifndef PENSTOCK_ROUTER_CORE_BOOKS_REQUEST_TABLE_H_
#define PENSTOCK_ROUTER_CORE_BOOKS_REQUEST_TABLE_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "router/core/books/request_state.h"

namespace penstock {

class RequestTable {
 public:
  // Null where no open request has the id.
  RequestState* Find(RequestId id) const {
    const auto found = requests_.find(id);
    return found == requests_.end() ? nullptr : found->second.get();
  }
  // No open request has the id.
  RequestState* Add(std::unique_ptr<RequestState> request) {
    const RequestId id = request->arrived.request;
    const auto [entry, added] = requests_.emplace(id, std::move(request));
    assert(added);
    static_cast<void>(added);
    return entry->second.get();
  }
  void Erase(RequestId id) { requests_.erase(id); }

  // Lays the table out for so many requests. Twice as much room as that is made: a table that is half empty is never
  // cleaned of erased entries.
  void Reserve(int64_t requests) { requests_.reserve(static_cast<size_t>(2 * requests)); }

  int64_t size() const { return static_cast<int64_t>(requests_.size()); }

 private:
  // A loop gives its ids in order, so requests of one time lie side by side. Their part of a large table stays in the
  // caches.
  struct InOrder {
    size_t operator()(RequestId id) const { return (id.value() << 1) ^ (id.value() >> 8 & 0x7F); }
  };

  absl::flat_hash_map<RequestId, std::unique_ptr<RequestState>, InOrder> requests_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_BOOKS_REQUEST_TABLE_H_
