// The tokens that one loop has delivered since start, by their worth at that moment.
//
// The loop writes, any thread reads: relaxed stores and loads, no lock.
#ifndef PENSTOCK_ROUTER_LIVE_DELIVERED_TOKENS_H_
#define PENSTOCK_ROUTER_LIVE_DELIVERED_TOKENS_H_

#include <atomic>
#include <cstdint>

namespace penstock {

class DeliveredTokens {
 public:
  // `late` of these tokens reached their client after they were due.
  void Count(int64_t tokens, int64_t late) {
    Add(timely_, tokens - late);
    if (late != 0) Add(late_, late);
  }
  // A request ended badly: nobody needs its tokens.
  void Waste(int64_t tokens) { Add(wasted_, tokens); }

  int64_t timely() const { return timely_.load(std::memory_order_relaxed); }
  int64_t late() const { return late_.load(std::memory_order_relaxed); }
  int64_t wasted() const { return wasted_.load(std::memory_order_relaxed); }

 private:
  // One writer.
  static void Add(std::atomic<int64_t>& sum, int64_t tokens) {
    sum.store(sum.load(std::memory_order_relaxed) + tokens, std::memory_order_relaxed);
  }

  std::atomic<int64_t> timely_{0};
  std::atomic<int64_t> late_{0};
  std::atomic<int64_t> wasted_{0};
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_DELIVERED_TOKENS_H_
