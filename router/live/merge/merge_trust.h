// Tells if calls to an engine may be merged: not for a while after one of them came back bad.
//
// Each further bad answer doubles the pause; a good one makes it short again. What ends within a pause began before it,
// and changes nothing. A value.
#ifndef PENSTOCK_ROUTER_LIVE_MERGE_MERGE_TRUST_H_
#define PENSTOCK_ROUTER_LIVE_MERGE_MERGE_TRUST_H_

#include <algorithm>
#include <optional>

#include "base/units.h"

namespace penstock {

class MergeTrust {
 public:
  static constexpr Duration kFirstPause = Duration::Seconds(60);
  static constexpr Duration kLongestPause = Duration::Seconds(3600);

  bool Holds(Instant now) const { return now >= until_; }
  void OnGood(Instant now) {
    if (Holds(now)) pause_ = kFirstPause;
  }
  // The pause that begins; nullopt: one is under way.
  std::optional<Duration> OnBad(Instant now) {
    if (!Holds(now)) return std::nullopt;
    const Duration pause = pause_;
    until_ = now + pause;
    pause_ = std::min(pause * 2, kLongestPause);
    return pause;
  }

 private:
  Instant until_;
  Duration pause_ = kFirstPause;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_MERGE_MERGE_TRUST_H_
