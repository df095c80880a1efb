// The tokens that one event of a replica's streams carries, learned from answers whose engine counted them.
//
// An engine that decodes several tokens in one step, or whose server is busy, puts several into one event. A ratio of
// two sums over the answers of late, which begins at 1 with the weight of kPriorEvents. Invariant: 1 <= ratio() <=
// kMost. Owned by an EventLoop, for its own streams. O(1).
#ifndef PENSTOCK_ROUTER_LIVE_TOKENS_PER_EVENT_H_
#define PENSTOCK_ROUTER_LIVE_TOKENS_PER_EVENT_H_

#include <algorithm>
#include <cstdint>

namespace penstock {

class TokensPerEvent {
 public:
  // Answers that count, about: their weight falls by a factor of e over so many newer ones.
  static constexpr double kMemoryAnswers = 20;
  static constexpr double kPriorEvents = 32;
  // Beyond, the engine generates text that it does not show.
  static constexpr double kMost = 8;

  double ratio() const { return std::clamp((kPriorEvents + tokens_) / (kPriorEvents + events_), 1.0, kMost); }

  // A whole answer of so many tokens came in `events` events with text. Its last token ends it and often has no text.
  void Observe(int64_t tokens, int64_t events) {
    if (events <= 0) return;
    constexpr double kKept = 1 - 1 / kMemoryAnswers;
    const auto counted = static_cast<double>(events);
    tokens_ = kKept * tokens_ + std::clamp(static_cast<double>(tokens - 1), counted, kMost * counted);
    events_ = kKept * events_ + counted;
  }

 private:
  double tokens_ = 0;
  double events_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_TOKENS_PER_EVENT_H_
