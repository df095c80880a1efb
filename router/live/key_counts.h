// The number of requests of each API key that are served at a time, so that one key cannot take all. Thread-safe.
//
// A key is its id (TenantIdOf), never its text. A key without requests costs no memory. Cost: one short lock.
#ifndef PENSTOCK_ROUTER_LIVE_KEY_COUNTS_H_
#define PENSTOCK_ROUTER_LIVE_KEY_COUNTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"

namespace penstock {

class KeyCounts {
 public:
  // One request of a key, until its end. The counts must outlive it.
  class Place {
   public:
    Place(KeyCounts& counts, TenantId key) : counts_(&counts), key_(key) {}
    Place(Place&& other) noexcept : counts_(std::exchange(other.counts_, nullptr)), key_(other.key_) {}
    Place& operator=(Place&& other) noexcept {
      std::swap(counts_, other.counts_);
      std::swap(key_, other.key_);
      return *this;
    }
    ~Place() {
      if (counts_ != nullptr) counts_->Leave(key_);
    }

   private:
    KeyCounts* counts_;
    TenantId key_;
  };

  // Empty: the key has `most` requests.
  std::optional<Place> Enter(TenantId key, int64_t most) {
    Shard& shard = ShardOf(key);
    const std::lock_guard lock(shard.mutex);
    int64_t& count = shard.counts[key];
    if (count >= most) return std::nullopt;
    ++count;
    return std::optional<Place>(std::in_place, *this, key);
  }

 private:
  static constexpr size_t kShards = 16;
  struct Shard {
    std::mutex mutex;
    absl::flat_hash_map<TenantId, int64_t> counts;  // Guarded; no count is zero.
  };

  Shard& ShardOf(TenantId key) { return shards_[key.value() % kShards]; }
  void Leave(TenantId key) {
    Shard& shard = ShardOf(key);
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.counts.find(key);
    if (--found->second == 0) shard.counts.erase(found);
  }

  std::array<Shard, kShards> shards_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_KEY_COUNTS_H_
