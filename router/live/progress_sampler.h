// Hands the relays' token counts to the core, every 25 ms. Belongs to the control loop.
#ifndef PENSTOCK_ROUTER_LIVE_PROGRESS_SAMPLER_H_
#define PENSTOCK_ROUTER_LIVE_PROGRESS_SAMPLER_H_

#include <boost/asio/steady_timer.hpp>

#include "router/live/event_loop.h"

namespace penstock {

class ProgressSampler {
 public:
  static constexpr Duration kInterval = Duration::Milliseconds(25);

  explicit ProgressSampler(EventLoop& control);
  void Start();
  void Stop();

 private:
  void Sample();

  EventLoop& control_;
  boost::asio::steady_timer timer_;
  bool stopped_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_PROGRESS_SAMPLER_H_
