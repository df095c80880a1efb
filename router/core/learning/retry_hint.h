// When a client that was refused as late should come back, learned from the requests that come then.
//
// The end of a queue says little: it drains within a second, and the next large requests are late again. So each
// refusal is followed up. The first request of its size or larger that arrives once its Retry-After is over tells
// whether the client would have been served. Each one that would moves the hint down. Each one that would not moves it
// up nine times as much. In the long run nine of ten so are served. Invariant: 1 s <= hint() <= 60 s. A value; no
// clock. Every operation is O(1).
#ifndef PENSTOCK_ROUTER_CORE_LEARNING_RETRY_HINT_H_
#define PENSTOCK_ROUTER_CORE_LEARNING_RETRY_HINT_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "base/units.h"

namespace penstock {

class RetryHint {
 public:
  Duration hint() const { return Duration::Seconds(seconds_); }

  // A request was refused with the hint. While kPending follow-ups are open, others are not followed up.
  void Refused(Tokens prompt, Instant now) {
    if (size_ == kPending) return;
    pending_[(first_ + size_++) % kPending] = {now + hint(), prompt};
  }
  // True: an arriving request follows up a refusal. Ended reports its own end.
  bool Follows(Tokens prompt, Instant now) {
    while (size_ > 0 && now - pending_[first_].due > kLongest) Forget();
    if (size_ == 0 || now < pending_[first_].due || prompt < pending_[first_].prompt) return false;
    Forget();
    return true;
  }
  // A request that follows up was served in time, or refused.
  void Ended(bool served) {
    const double step = served ? -kStep : kServedShare / (1 - kServedShare) * kStep;
    seconds_ = std::clamp(seconds_ * std::exp(step), kLeast, kMost);
  }

 private:
  static constexpr double kServedShare = 0.9;
  static constexpr double kStep = 0.03;  // Untuned, as is the start.
  static constexpr double kStart = 15;
  static constexpr double kLeast = 1;
  static constexpr double kMost = 60;
  static constexpr size_t kPending = 64;
  // A refusal that no request of its size followed for so long is forgotten.
  static constexpr Duration kLongest = Duration::Seconds(10);

  struct FollowUp {
    Instant due;
    Tokens prompt{0};
  };

  void Forget() {
    first_ = (first_ + 1) % kPending;
    --size_;
  }

  double seconds_ = kStart;
  std::array<FollowUp, kPending> pending_{};  // A ring, in the order of refusals.
  size_t first_ = 0;
  size_t size_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_LEARNING_RETRY_HINT_H_
