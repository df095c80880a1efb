// One stream's count of tokens that its client got or will get, over all attempts and sequences.
//
// Its loop writes it, any thread reads it: relaxed stores and loads, no lock.
#ifndef PENSTOCK_BASE_TOKEN_COUNTER_H_
#define PENSTOCK_BASE_TOKEN_COUNTER_H_

#include <atomic>
#include <cstdint>

#include "base/units.h"

namespace penstock {

class TokenCounter {
 public:
  void Count(int64_t tokens, Instant when) {
    generated_.store(generated_.load(std::memory_order_relaxed) + tokens, std::memory_order_relaxed);
    newest_.store(when.nanoseconds(), std::memory_order_relaxed);
  }
  // The stream is not read until its client has taken what came before.
  void BeginWait() { waited_until_.store(Instant::Never().nanoseconds(), std::memory_order_relaxed); }
  void EndWait(Instant when) { waited_until_.store(when.nanoseconds(), std::memory_order_relaxed); }
  // Starts again from the tokens that earlier attempts delivered. No sampler may know the counter then.
  void Reset(int64_t kept) { generated_.store(kept, std::memory_order_relaxed); }

  int64_t generated() const { return generated_.load(std::memory_order_relaxed); }
  // The time of the last Count; zero before the first.
  Instant newest() const { return Instant::FromNanoseconds(newest_.load(std::memory_order_relaxed)); }
  // The end of the last wait for the client; Never during one, zero before the first.
  Instant waited_until() const { return Instant::FromNanoseconds(waited_until_.load(std::memory_order_relaxed)); }

 private:
  std::atomic<int64_t> generated_{0};
  std::atomic<int64_t> newest_{0};
  std::atomic<int64_t> waited_until_{0};
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_TOKEN_COUNTER_H_
