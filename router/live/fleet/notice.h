// The lines of the log about one replica.
#ifndef PENSTOCK_ROUTER_LIVE_FLEET_NOTICE_H_
#define PENSTOCK_ROUTER_LIVE_FLEET_NOTICE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/names/name_look_ups.h"
#include "backends/names/several_addresses.h"
#include "base/health.h"
#include "config/text/addresses.h"
#include "router/fleet/discovery_text.h"
#include "router/fleet/fleet_book.h"
#include "router/fleet/known_replica.h"
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

// The warning of a name that stands for several engines. After a look-up of the name.
inline void LogSeveralAddresses(const Edge& edge, const ReplicaConfig& config) {
  const absl::StatusOr<EngineUrl> url = ParseEngineUrl(config.url);
  if (!url.ok() || url->IsLoopback()) return;
  const std::vector<std::string> several = SeveralAddresses(NameLookUps::OfProcess().LastOf(url->address.host));
  if (several.empty()) return;
  LogWarning(edge, config.id,
             absl::StrCat(url->address.host, " has several addresses (", absl::StrJoin(several, ", "),
                          "), which count as one engine: write a replica for each engine"));
}

// The facts of an engine that is known now, and a warning where it does not have the replica's model.
inline void LogDiscovery(const Edge& edge, const FleetBook& book, ReplicaId replica) {
  const ReplicaConfig& config = book.replica_config(replica);
  const Discovery& found = *book.known(replica).discovery;
  LogNotice(edge, config.id, DiscoveryText(found, book.fleet().replicas[replica.value()]));
  if (config.model.empty() || found.models.empty() || !NameOfModel(book.config(), config, found).empty()) return;
  LogWarning(
      edge, config.id,
      absl::StrCat("engine does not list the model `", config.model, "` of the configuration: requests for it go to `",
                   found.models.front().name, "`, the first that it lists"));
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_FLEET_NOTICE_H_
