// The share of the requests of one model that were refused of late because they could not be on time.
//
// Counts fade with a time constant of 30 s. kUnseen served requests stand beside them and never fade, so the share
// fades too. Of many requests, one refusal or two are no crowd. Invariant: a share is 0 to 1. A value; no clock. O(1).
#ifndef PENSTOCK_ROUTER_CORE_QUEUE_LATE_SHARE_H_
#define PENSTOCK_ROUTER_CORE_QUEUE_LATE_SHARE_H_

#include <cmath>

#include "base/units.h"

namespace penstock {

class LateShare {
 public:
  void Served(Instant now) { Count(0, now); }
  void Refused(Instant now) {
    Count(1, now);
    Contended(now);
  }
  // A request got what it had waited for.
  void Contended(Instant now) { contended_at_ = now; }

  double At(Instant now) const {
    const double faded = Faded(now);
    return refused_ * faded / (seen_ * faded + kUnseen);
  }
  // True: more than kFew were refused of late, and more than the share, and one waited for others within `recent`.
  bool IsCrowd(double share, Duration recent, Instant now) const {
    return now - contended_at_ <= recent && refused_ * Faded(now) > kFew && At(now) > share;
  }

 private:
  static constexpr double kWindowSeconds = 30;
  static constexpr double kUnseen = 10;
  static constexpr double kFew = 2;

  double Faded(Instant now) const { return std::exp(-(now - at_).seconds() / kWindowSeconds); }
  void Count(double refused, Instant now) {
    const double faded = Faded(now);
    seen_ = seen_ * faded + 1;
    refused_ = refused_ * faded + refused;
    at_ = now;
  }

  double seen_ = 0;
  double refused_ = 0;
  Instant at_;
  Instant contended_at_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_QUEUE_LATE_SHARE_H_
