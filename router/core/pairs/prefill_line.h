// The prompts on their way through one prefill replica, and the two times that its answers teach.
//
// Nobody sees the steps of such a replica: it makes no streams. Its prompts are computed in order, so the end of each
// tells where the line stands. Both times are ratios of sums over the answers of late, so large prompts count more than
// small ones. Invariant: pace() and transfer() are positive or 0. Owned by Prefillers. All methods are O(1).
#ifndef PENSTOCK_ROUTER_CORE_PAIRS_PREFILL_LINE_H_
#define PENSTOCK_ROUTER_CORE_PAIRS_PREFILL_LINE_H_

#include <algorithm>

#include "base/units.h"

namespace penstock {

class PrefillLine {
 public:
  // Answers that count, about: their weight falls by a factor of e over so many newer ones.
  static constexpr double kMemoryAnswers = 20;
  // The weight of what was believed before the first answer: seconds of prefill, and tokens.
  static constexpr double kPriorSeconds = 1;
  static constexpr double kPriorTokens = 8192;

  // Seconds that a prompt takes, over those that the step model gives to it.
  double pace() const { return (kPriorSeconds + taken_) / (kPriorSeconds + expected_); }
  // Seconds to hand over the cache of one token; `prior` is that of the configuration.
  double transfer(double prior) const {
    return (kPriorTokens * prior + handing_) / (kPriorTokens + handed_.AsDouble());
  }
  // Seconds until all prompts that were sent are computed.
  double Ahead(Instant now) const { return std::max(0.0, (free_at_ - now).seconds()); }

  // A prompt of so many seconds was sent.
  void Sent(double seconds, Instant now) { free_at_ = std::max(now, free_at_) + Duration::Seconds(seconds); }
  // A prompt that was sent at `sent` is computed; the step model gives `expected` seconds to it, and the prompts behind
  // it take `left` seconds.
  void Computed(Instant sent, double expected, double left, Instant now) {
    taken_ = kKept * taken_ + std::max(0.0, (now - std::max(sent, last_)).seconds());
    expected_ = kKept * expected_ + expected;
    last_ = now;
    free_at_ = now + Duration::Seconds(left);
  }
  // A prompt left before its end; those that are left take so many seconds.
  void Left(double left, Instant now) { free_at_ = std::min(free_at_, now + Duration::Seconds(left)); }
  // The cache of so many tokens was handed over within `seconds`.
  void HandedOver(Tokens tokens, double seconds) {
    handing_ = kKept * handing_ + std::max(0.0, seconds);
    handed_ = Tokens(static_cast<int64_t>(kKept * handed_.AsDouble())) + tokens;
  }

 private:
  static constexpr double kKept = 1 - 1 / kMemoryAnswers;

  Instant free_at_;
  Instant last_;  // When the newest prompt was computed.
  double taken_ = 0;
  double expected_ = 0;
  double handing_ = 0;
  Tokens handed_{0};
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PAIRS_PREFILL_LINE_H_
