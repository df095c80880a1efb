// Everything that one snapshot of the page shows. A value.
#ifndef PENSTOCK_ROUTER_PAGE_PAGE_FACTS_H_
#define PENSTOCK_ROUTER_PAGE_PAGE_FACTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "router/core/contract/view.h"
#include "router/live/fleet_view.h"
#include "router/live/live_request.h"
#include "router/page/comparison.h"
#include "router/page/configuration_state.h"
#include "router/page/token_history.h"
#include "router/shadow/shadow_report.h"
#include "router/telemetry/log/decision_log.h"
#include "router/telemetry/telemetry.h"

namespace penstock {

struct PageFacts {
  std::string version;
  uint64_t sequence = 0;
  double unix_seconds = 0;
  double uptime = 0;  // Seconds.
  bool draining = false;
  int64_t requests = 0;  // Being answered.
  int64_t connections = 0;
  int64_t viewers = 0;
  std::shared_ptr<const FleetView> fleet;
  CoreView view;  // As shown: without what has left the fleet.
  ConfigurationState::Facts configuration;
  TokenHistory tokens;
  GpuReport gpus;
  WastedTokens wasted{};
  struct Waiting {
    LiveRequest request;
    std::optional<WaitView> now;  // Unset: it waits no more, or under a policy that tells no reason.
  };
  std::vector<Waiting> waiting;      // Oldest first.
  std::vector<LiveRequest> running;  // Oldest first.
  std::vector<RecentDecision> decisions;
  std::vector<ComparisonRow> comparison;  // Empty outside of the demo.
  std::optional<ShadowReport> shadow;     // Unset: the router has none.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_PAGE_PAGE_FACTS_H_
