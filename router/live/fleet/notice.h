// A line of the log about one replica.
#ifndef PENSTOCK_ROUTER_LIVE_FLEET_NOTICE_H_
#define PENSTOCK_ROUTER_LIVE_FLEET_NOTICE_H_

#include <string>
#include <utility>

#include "router/live/event_loop.h"

namespace penstock {

inline void LogNotice(const Edge& edge, const std::string& replica, std::string message) {
  if (edge.log == nullptr) return;
  DecisionEntry entry;
  entry.replica = replica;
  entry.message = std::move(message);
  edge.log->Write(std::move(entry));
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_FLEET_NOTICE_H_
