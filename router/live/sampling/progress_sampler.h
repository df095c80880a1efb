// Hands the relays' token counts to the core and the overdue streams to the GPU watch, every 25 ms. Belongs to the
// control loop.
#ifndef PENSTOCK_ROUTER_LIVE_SAMPLING_PROGRESS_SAMPLER_H_
#define PENSTOCK_ROUTER_LIVE_SAMPLING_PROGRESS_SAMPLER_H_

#include <boost/asio/steady_timer.hpp>
#include <functional>

#include "router/live/event_loop.h"

namespace penstock {

class ProgressSampler {
 public:
  static constexpr Duration kInterval = Duration::Milliseconds(25);

  // `on_token` gets the time of the newest token of each replica that gave any.
  ProgressSampler(EventLoop& control, std::function<void(ReplicaId, Instant)> on_token);
  void Start();
  void Stop();

 private:
  void Sample();

  EventLoop& control_;
  const std::function<void(ReplicaId, Instant)> on_token_;
  boost::asio::steady_timer timer_;
  bool stopped_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_SAMPLING_PROGRESS_SAMPLER_H_
