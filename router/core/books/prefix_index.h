// The prompt prefixes that one replica's engine is expected to have cached, by the router's own dispatches.
//
// The least recently dispatched blocks go first, the last block of a prompt before its head. Invariant: the blocks of a
// prompt in the index are a leading part of it, so a match is found by bisection. An expectation, never a promise: the
// engine evicts by its own rules, and a hit saves prefill work, not memory. Owned by ReplicaState. Match costs
// O(log blocks), Touch O(blocks of the prompt).
#ifndef PENSTOCK_ROUTER_CORE_BOOKS_PREFIX_INDEX_H_
#define PENSTOCK_ROUTER_CORE_BOOKS_PREFIX_INDEX_H_

#include <cstdint>
#include <list>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace penstock {

class PrefixIndex {
 public:
  PrefixIndex() = default;
  // The table points into the list, so a copy would point into another index.
  PrefixIndex(const PrefixIndex&) = delete;
  PrefixIndex& operator=(const PrefixIndex&) = delete;
  PrefixIndex(PrefixIndex&&) = default;
  PrefixIndex& operator=(PrefixIndex&&) = default;

  // Blocks of kPrefixBlock tokens; 0 keeps nothing.
  void SetCapacity(int64_t blocks);
  // Leading blocks of `prefix` that are expected to be cached.
  int64_t Match(const std::vector<uint64_t>& prefix) const;
  // A prompt with this prefix was dispatched here.
  void Touch(const std::vector<uint64_t>& prefix);
  void Clear();

 private:
  void Trim();

  int64_t capacity_ = 0;
  std::list<uint64_t> order_;  // Most recent first.
  absl::flat_hash_map<uint64_t, std::list<uint64_t>::iterator> blocks_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_BOOKS_PREFIX_INDEX_H_
