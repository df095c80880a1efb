#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "app/simulate/fleet_plan.h"

namespace penstock {
namespace {

nlohmann::ordered_json FleetJson(const PlannedFleet& fleet) {
  nlohmann::ordered_json gpus = nlohmann::ordered_json::array();
  for (const PlannedGpu& gpu : fleet.gpus)
    gpus.push_back({{"id", gpu.id}, {"models", gpu.models}, {"sleeping", gpu.sleeps}});
  return {{"gpus", fleet.gpus.size()}, {"feasible_on_time_share", fleet.on_time_share}, {"layout", gpus}};
}

}  // namespace

std::string PlanJson(const FleetPlan& plan, const PlanRequest& request) {
  const auto dedicated = static_cast<double>(plan.dedicated.gpus.size());
  const auto colocated = static_cast<double>(plan.colocated.gpus.size());
  const nlohmann::ordered_json json = {{"gpu", request.gpu},
                                       {"policy", request.policy},
                                       {"on_time", request.on_time},
                                       {"dedicated", FleetJson(plan.dedicated)},
                                       {"colocated", FleetJson(plan.colocated)},
                                       {"saving", 1 - colocated / std::max(1.0, dedicated)}};
  return json.dump();
}

std::string PlanTable(const FleetPlan& plan, const PlanRequest& request) {
  std::string text;
  const auto fleet = [&](const char* title, const PlannedFleet& planned) {
    absl::StrAppendFormat(&text, "  %-12s %d x %s, %.2f%% of the worst model's feasible requests on time\n", title,
                          planned.gpus.size(), request.gpu, 100 * planned.on_time_share);
    for (const PlannedGpu& gpu : planned.gpus) {
      absl::StrAppendFormat(&text, "    %-8s %s%s\n", gpu.id, absl::StrJoin(gpu.models, ", "),
                            gpu.sleeps ? " (sleeping in turn)" : "");
    }
  };
  fleet("dedicated", plan.dedicated);
  fleet("colocated", plan.colocated);
  absl::StrAppendFormat(&text, "  %-12s %.0f%% of the GPUs\n", "saving",
                        100.0 - 100.0 * static_cast<double>(plan.colocated.gpus.size()) /
                                    static_cast<double>(std::max<size_t>(1, plan.dedicated.gpus.size())));
  return text;
}

}  // namespace penstock
