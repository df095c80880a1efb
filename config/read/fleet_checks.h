// The parts of CheckFleet. Each adds findings at the places of the offending keys.
#ifndef PENSTOCK_CONFIG_READ_FLEET_CHECKS_H_
#define PENSTOCK_CONFIG_READ_FLEET_CHECKS_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "config/read/draft.h"
#include "config/read/map_reader.h"
#include "config/values/config_values.h"

namespace penstock {

// Names, ids, urls and keys that must be unique.
void CheckGpuIds(const Draft& draft);
void CheckModelNames(const Draft& draft);
void CheckReplicaNames(const Draft& draft);
void CheckAdapters(const Draft& draft);
void CheckModelClasses(const Draft& draft);
void CheckTenants(const Draft& draft);
// Two routes that want the same requests.
void CheckRoutes(const Draft& draft);
// Each node has an id of its own, and GPUs.
void CheckNodes(const Draft& draft);

// Address, GPUs, model, sizes and simulation of one replica, with its place.
void CheckReplica(const Config& config, const ReplicaConfig& replica, const MapReader& map);

// The replica's role, and its partner among the other replicas of its model.
void CheckRole(const Config& config, const ReplicaConfig& replica, const MapReader& map);

// Names and aliases of all configured models. The views live as long as `config`.
std::vector<absl::string_view> ModelNames(const Config& config);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_READ_FLEET_CHECKS_H_
