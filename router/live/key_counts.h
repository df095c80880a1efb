// The number of requests of each API key that are served at a time, so that one key cannot take all. Beside it, places
// that callers share. Thread-safe.
//
// A key is its id (TenantIdOf), never its text. A key without requests costs no memory. Cost: one short lock.
#ifndef PENSTOCK_ROUTER_LIVE_KEY_COUNTS_H_
#define PENSTOCK_ROUTER_LIVE_KEY_COUNTS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
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

// Places of which one caller has three quarters at most, rounded up. A caller is a hash. Cost: that of KeyCounts.
class SharedPlaces {
 public:
  // Taken until its end. The places must outlive it.
  class Place {
   public:
    Place(std::atomic<int>& taken, KeyCounts::Place own) : taken_(&taken), own_(std::move(own)) {}

   private:
    struct GiveBack {
      void operator()(std::atomic<int>* taken) const { taken->fetch_sub(1, std::memory_order_relaxed); }
    };
    std::unique_ptr<std::atomic<int>, GiveBack> taken_;
    KeyCounts::Place own_;
  };

  // Empty: there are `most`, or the caller has its part.
  std::optional<Place> Enter(uint64_t caller, int most) {
    if (most <= 0) return std::nullopt;
    std::optional<KeyCounts::Place> own = callers_.Enter(TenantId(caller), most - most / 4);
    if (!own) return std::nullopt;
    if (taken_.fetch_add(1, std::memory_order_relaxed) >= most) {
      taken_.fetch_sub(1, std::memory_order_relaxed);
      return std::nullopt;
    }
    return std::optional<Place>(std::in_place, taken_, *std::move(own));
  }

 private:
  std::atomic<int> taken_{0};
  KeyCounts callers_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_KEY_COUNTS_H_
