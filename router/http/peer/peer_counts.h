// The number of connections of each client address, so that one address cannot take all. Thread-safe.
//
// An address is a hash: two addresses may share a count.
#ifndef PENSTOCK_ROUTER_HTTP_PEER_PEER_COUNTS_H_
#define PENSTOCK_ROUTER_HTTP_PEER_PEER_COUNTS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace penstock {

class PeerCounts : public std::enable_shared_from_this<PeerCounts> {
 public:
  // Counts from the return until its end. Null: the address has `most` connections.
  using Place = std::shared_ptr<void>;
  Place Enter(uint64_t peer, int most) {
    std::atomic<int>& count = counts_[peer % kCounts];
    if (count.fetch_add(1, std::memory_order_relaxed) >= most) {
      count.fetch_sub(1, std::memory_order_relaxed);
      return nullptr;
    }
    return Place(&count, [keep = shared_from_this()](void* counted) {
      static_cast<std::atomic<int>*>(counted)->fetch_sub(1, std::memory_order_relaxed);
    });
  }

  // Counts one that takes the place of another of the peer, which is about to end.
  Place Replace(uint64_t peer) { return Enter(peer, kUnbounded); }

  // One address may take three quarters of many connections; few are not divided.
  static constexpr int MostOfOnePeer(int max_connections) {
    return max_connections < kDivided ? kUnbounded : max_connections - max_connections / 4;
  }

 private:
  static constexpr size_t kCounts = 4096;
  static constexpr int kDivided = 256;
  static constexpr int kUnbounded = 1 << 30;

  std::array<std::atomic<int>, kCounts> counts_{};
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_PEER_PEER_COUNTS_H_
