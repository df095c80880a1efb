// Keeps the sources of the event thread those of the fleet: the configured engines and their ranks.
//
// A tick each half second compares them. A rank's addresses are those of the engine with its rank added to the port, as
// vLLM binds them. Belongs to the control loop; its owner stops it before the loop ends.
#ifndef PENSTOCK_ROUTER_LIVE_KV_EVENTS_KV_EVENT_KEEPER_H_
#define PENSTOCK_ROUTER_LIVE_KV_EVENTS_KV_EVENT_KEEPER_H_

#include <boost/asio/steady_timer.hpp>
#include <vector>

#include "router/fleet/fleet_book.h"
#include "router/live/event_loop.h"
#include "router/live/kv_events/kv_event_thread.h"

namespace penstock {

// The sources of a fleet, in the order of its replicas. Pure.
std::vector<KvEventSource> KvEventSourcesOf(const FleetBook& book);

class KvEventKeeper {
 public:
  // All outlive it.
  KvEventKeeper(EventLoop& control, const FleetBook& book, KvEventThread& thread)
      : book_(book), thread_(thread), timer_(control.io()) {}

  void Start() { Tick(); }
  // Ends the thread too, within a turn of it.
  void Stop() {
    stopped_ = true;
    timer_.cancel();
    thread_.Stop();
  }

 private:
  void Tick();

  const FleetBook& book_;
  KvEventThread& thread_;
  boost::asio::steady_timer timer_;
  std::vector<KvEventSource> told_;
  bool stopped_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_KV_EVENTS_KV_EVENT_KEEPER_H_
