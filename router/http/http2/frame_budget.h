// The frames that a client of HTTP/2 may still send without bringing a request nearer. Pure.
//
// Such frames are PING, SETTINGS, WINDOW_UPDATE, resets, tiny pieces of bodies, heads of closed or refused streams, and
// all of unknown kinds. Time gives some back, and so does each larger piece of an answer, because its client renews
// windows. A few stores per frame.
#ifndef PENSTOCK_ROUTER_HTTP_HTTP2_FRAME_BUDGET_H_
#define PENSTOCK_ROUTER_HTTP_HTTP2_FRAME_BUDGET_H_

#include <algorithm>
#include <cstdint>

#include "base/units.h"

namespace penstock::http2 {

class FrameBudget {
 public:
  static constexpr double kMost = 2000;
  static constexpr double kPerSecond = 100;

  // False: there were too many.
  bool Spend(double frames, Instant now) {
    if (last_ != Instant()) Earn((now - last_).seconds() * kPerSecond);
    last_ = now;
    left_ -= frames;
    return left_ >= 0;
  }
  void Earn(double frames) { left_ = std::min(kMost, left_ + frames); }

 private:
  double left_ = kMost;
  Instant last_;
};

}  // namespace penstock::http2

#endif  // PENSTOCK_ROUTER_HTTP_HTTP2_FRAME_BUDGET_H_
