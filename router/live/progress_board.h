// The token counters of all running streams, sampled for the decision core.
//
// A relay counts tokens in its own RelayCounter (relaxed stores, no lock); registering one takes the short lock of its
// loop's shard. Sample() walks all shards and says, per replica, how many steps were seen and which streams did not
// follow them. Thread-safe where said.
#ifndef PENSTOCK_ROUTER_LIVE_PROGRESS_BOARD_H_
#define PENSTOCK_ROUTER_LIVE_PROGRESS_BOARD_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "router/core/contract/event.h"

namespace penstock {

// One stream's count of tokens that its client got or will get, over all attempts and sequences. Written by its loop,
// read by the sampler.
class RelayCounter {
 public:
  void Count(int64_t tokens, Instant when) {
    generated_.store(generated_.load(std::memory_order_relaxed) + tokens, std::memory_order_relaxed);
    newest_.store(when.nanoseconds(), std::memory_order_relaxed);
  }
  // Only while it is on no board: starts again from what earlier attempts delivered.
  void Reset(int64_t kept) { generated_.store(kept, std::memory_order_relaxed); }
  int64_t generated() const { return generated_.load(std::memory_order_relaxed); }

 private:
  friend class ProgressBoard;
  std::atomic<int64_t> generated_{0};
  std::atomic<int64_t> newest_{0};
  // The sampler's, under the shard's lock.
  RequestId request_;
  ReplicaId replica_;
  int64_t sequences_ = 1;
  int64_t reported_ = 0;  // What the core holds it to be.
  bool fresh_ = true;     // In no sample yet: the core may have missed steps or counted some twice.
  size_t position_ = 0;
};

class ProgressBoard {
 public:
  explicit ProgressBoard(size_t loops);

  // Any thread, after the core knows of the first token. The counter must stay until Remove.
  // `sequences` outputs advance in each step.
  void Add(size_t loop, RelayCounter& counter, RequestId request, ReplicaId replica, int64_t sequences);
  void Remove(size_t loop, RelayCounter& counter);

  // What happened since the last sample, one event per group of replicas; `group[replica]` is its number (replicas that
  // share a pool share one; a replica beyond the list is its own). Empty when nothing moved. One caller at a time.
  std::vector<Progress> Sample(const std::vector<uint32_t>& group);

 private:
  struct Shard {
    std::mutex mutex;
    std::vector<RelayCounter*> streams;
  };
  struct Row {
    RequestId request;
    ReplicaId replica;
    int64_t generated;
    int64_t before;
    int64_t sequences;
    bool fresh;
  };
  void Collect(Shard& shard, absl::flat_hash_map<ReplicaId, ReplicaProgress>& replicas);

  std::vector<std::unique_ptr<Shard>> shards_;
  std::vector<Row> rows_;  // Kept between samples for its memory.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_PROGRESS_BOARD_H_
