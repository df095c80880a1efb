#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "app/simulate/fleet_plan.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

double CostPerHour(const PlannedFleet& fleet, double price) { return price * static_cast<double>(fleet.gpus.size()); }

// 0 without a price or active tokens.
double CostPerMillion(const PlannedFleet& fleet, double price) {
  return fleet.active_tokens_per_s > 0 ? CostPerHour(fleet, price) / 3600 / fleet.active_tokens_per_s * 1e6 : 0;
}

Json FleetJson(const PlannedFleet& fleet, double price) {
  Json gpus = Json::array();
  for (const PlannedGpu& gpu : fleet.gpus)
    gpus.push_back({{"id", gpu.id}, {"models", gpu.models}, {"sleeping", gpu.sleeps}});
  Json json = {{"gpus", fleet.gpus.size()}, {"feasible_on_time_share", fleet.on_time_share}, {"layout", gpus}};
  if (price > 0) {
    json["cost_per_hour"] = CostPerHour(fleet, price);
    json["cost_per_million_active_tokens"] = CostPerMillion(fleet, price);
  }
  return json;
}

double SavingOf(const FleetPlan& plan) {
  const auto dedicated = static_cast<double>(plan.dedicated.gpus.size());
  return 1 - static_cast<double>(plan.colocated.gpus.size()) / std::max(1.0, dedicated);
}

Json PlanOf(const FleetPlan& plan) {
  return {{"dedicated", FleetJson(plan.dedicated, plan.price)},
          {"colocated", FleetJson(plan.colocated, plan.price)},
          {"saving", SavingOf(plan)}};
}

}  // namespace

std::string PlanJson(const PlanComparison& comparison, const PlanRequest& request) {
  const FleetPlan& cheapest = comparison.plans[comparison.cheapest];
  Json json = {{"gpu", cheapest.gpu}, {"policy", request.policy}, {"on_time", request.on_time}};
  json.update(PlanOf(cheapest));
  json["seeds"] = comparison.seeds;
  json["dedicated"]["interval"] = {comparison.dedicated.low, comparison.dedicated.high};
  json["colocated"]["interval"] = {comparison.colocated.low, comparison.colocated.high};
  if (comparison.plans.size() + comparison.ruled_out.size() == 1) return json.dump();
  for (const FleetPlan& plan : comparison.plans) json["kinds"][plan.gpu] = PlanOf(plan);
  for (const auto& [kind, reason] : comparison.ruled_out) json["kinds"][kind] = {{"error", reason}};
  return json.dump();
}

std::string PlanTable(const PlanComparison& comparison) {
  const FleetPlan& cheapest = comparison.plans[comparison.cheapest];
  std::string text;
  const auto fleet = [&](const char* title, const PlannedFleet& planned) {
    absl::StrAppendFormat(&text, "  %-12s %d x %s, %.2f%% of the worst model's feasible requests on time\n", title,
                          planned.gpus.size(), cheapest.gpu, 100 * planned.on_time_share);
    for (const PlannedGpu& gpu : planned.gpus) {
      absl::StrAppendFormat(&text, "    %-8s %s%s\n", gpu.id, absl::StrJoin(gpu.models, ", "),
                            gpu.sleeps ? " (sleeping in turn)" : "");
    }
  };
  fleet("dedicated", cheapest.dedicated);
  fleet("colocated", cheapest.colocated);
  absl::StrAppendFormat(&text, "  %-12s %.0f%% of the GPUs\n", "saving", 100 * SavingOf(cheapest));
  if (comparison.seeds > 1) {
    absl::StrAppendFormat(&text, "  %-12s %.0f to %.0f dedicated, %.0f to %.0f colocated; above is the median\n",
                          absl::StrFormat("%d seeds", comparison.seeds), comparison.dedicated.low,
                          comparison.dedicated.high, comparison.colocated.low, comparison.colocated.high);
  }
  for (const FleetPlan& plan : comparison.plans) {
    if (plan.price <= 0) continue;
    absl::StrAppendFormat(&text, "  %-12s %d x %s: %.2f an hour, %.3f per million active tokens (dedicated %.2f)\n",
                          plan.gpu == cheapest.gpu ? "cost" : "instead", plan.colocated.gpus.size(), plan.gpu,
                          CostPerHour(plan.colocated, plan.price), CostPerMillion(plan.colocated, plan.price),
                          CostPerHour(plan.dedicated, plan.price));
  }
  for (const auto& [kind, reason] : comparison.ruled_out) {
    absl::StrAppendFormat(&text, "  %-12s %s: %s\n", "ruled out", kind, reason);
  }
  return text;
}

}  // namespace penstock
