// The lines of the log about one replica.
#ifndef PENSTOCK_ROUTER_LIVE_FLEET_NOTICE_H_
#define PENSTOCK_ROUTER_LIVE_FLEET_NOTICE_H_

#include <string>
#include <utility>

#include "base/health.h"
#include "router/live/event_loop.h"

namespace penstock {

inline void LogNotice(const Edge& edge, const std::string& replica, std::string message,
                      LogLevel level = LogLevel::kInfo) {
  if (edge.log == nullptr) return;
  DecisionEntry entry;
  entry.level = level;
  entry.replica = replica;
  entry.message = std::move(message);
  edge.log->Write(std::move(entry));
}

inline void LogWarning(const Edge& edge, const std::string& replica, std::string message) {
  LogNotice(edge, replica, std::move(message), LogLevel::kWarning);
}

inline const char* TextOf(Health health) {
  switch (health) {
    case Health::kUp:
      return "replica is up";
    case Health::kDown:
      return "replica is down";
    case Health::kDraining:
      return "replica drains";
    case Health::kProbing:
      return "replica is on probation";
  }
  return "";
}

inline void LogHealth(const Edge& edge, const std::string& replica, Health health) {
  LogNotice(edge, replica, TextOf(health), health == Health::kDown ? LogLevel::kWarning : LogLevel::kInfo);
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_FLEET_NOTICE_H_
