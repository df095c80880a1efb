// Plans of fleets, and their cost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/simulate/fleet_plan.h"
#include "app/simulate/simulation_setup.h"
#include "config/config.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

constexpr char kOneClass[] = "classes:\n  standard: {ttft: 2s, tpot: 100ms, queue: 30s, default: true}\n";

Config Planned(const std::string& yaml) {
  const absl::StatusOr<Config> config = ParseConfig(yaml + kOneClass, "fleet.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  return *config;
}

TEST(Plan, ModelsThatAreRarelyBusyShareAGpu) {
  const Config config = Planned(
      "gpus: [{id: any, kind: h200}]\nmodels:\n  - {name: model-a, shape: llama-3.1-8b}\n"
      "  - {name: model-b, shape: llama-3.1-8b}\n  - {name: model-c, shape: qwen2.5-3b}\nreplicas:\n"
      "  - {id: a, gpus: [any], model: model-a, simulated: {}}\n  - {id: b, gpus: [any], model: model-b, simulated: "
      "{}}\n"
      "  - {id: c, gpus: [any], model: model-c, simulated: {}}\n");
  const auto trace = bench::OpenTrace("generate:antiphase", {0.5, Duration::Seconds(100), Duration()}, 1);
  PlanRequest request;
  request.gpu = "h200";
  const absl::StatusOr<FleetPlan> plan = PlanFleet(config, *trace, request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->dedicated.gpus.size(), 3u);
  EXPECT_EQ(plan->colocated.gpus.size(), 1u);
  EXPECT_EQ(plan->colocated.gpus[0].models.size(), 3u);
  EXPECT_GE(plan->colocated.on_time_share, 0.99);
  EXPECT_NEAR(nlohmann::json::parse(PlanJson({{*plan}, 0, {}}, request))["saving"], 2.0 / 3, 1e-9);
}

TEST(Plan, KindsAreComparedByTheirPrice) {
  const Config config = Planned(
      "gpus: [{id: a, kind: h100, price: 4}, {id: b, kind: l40s, price: 1}]\n"
      "replicas:\n  - {id: a, gpus: [a], model: llama-3.1-8b, simulated: {}}\n");
  const auto trace = bench::OpenTrace("generate:azure-conv", {0.2, Duration::Seconds(20), Duration()}, 1);
  const absl::StatusOr<PlanComparison> plans = ComparePlans(config, *trace, PlanRequest(), {"h100", "l40s"});
  ASSERT_TRUE(plans.ok()) << plans.status();
  const nlohmann::json json = nlohmann::json::parse(PlanJson(*plans, PlanRequest()));
  EXPECT_EQ(json["gpu"], "l40s");
  EXPECT_EQ(json["colocated"]["gpus"], 1);
  EXPECT_EQ(json["colocated"]["cost_per_hour"], 1.0);
  EXPECT_EQ(json["kinds"]["h100"]["colocated"]["cost_per_hour"], 4.0);
  const double per_million = json["colocated"]["cost_per_million_active_tokens"];
  EXPECT_NEAR(per_million, 1e6 / 3600 / plans->plans[1].colocated.active_tokens_per_s, 1e-9);
  EXPECT_THAT(PlanTable(*plans), HasSubstr("instead      1 x h100: 4.00 an hour"));
}

TEST(Plan, AKindThatCannotServeIsRuledOut) {
  const Config config = Planned(
      "gpus: [{id: a, kind: h100, price: 4}, {id: b, kind: l4, price: 1}]\n"
      "replicas:\n  - {id: a, gpus: [a], model: llama-3.1-8b, simulated: {}}\n");
  const auto trace = bench::OpenTrace("generate:azure-conv", {4, Duration::Seconds(20), Duration()}, 1);
  PlanRequest request;
  request.most_gpus = 2;
  const absl::StatusOr<PlanComparison> plans = ComparePlans(config, *trace, request, {"l4", "h100"});
  ASSERT_TRUE(plans.ok()) << plans.status();
  const nlohmann::json json = nlohmann::json::parse(PlanJson(*plans, request));
  EXPECT_EQ(json["gpu"], "h100");
  EXPECT_THAT(std::string(json["kinds"]["l4"]["error"]), HasSubstr("needs more than 2 GPUs"));
  EXPECT_THAT(std::string(ComparePlans(config, *trace, request, {"h100", "a10"}).status().message()),
              HasSubstr("no GPU of kind a10 has a price"));
}

TEST(Cost, IsToldWhereEveryGpuHasAPrice) {
  const auto run = [](const std::string& price) {
    const Config config = Planned("gpus: [{id: a, kind: h100, price: 3.6}, {id: b, kind: h100" + price +
                                  "}]\nreplicas:\n  - {id: a, gpus: [a], model: llama-3.1-8b, simulated: {}}\n"
                                  "  - {id: b, gpus: [b], model: llama-3.1-8b, simulated: {}}\n");
    const auto trace = bench::OpenTrace("generate:azure-conv", {1, Duration::Seconds(20), Duration()}, 1);
    const auto setup = SetUpSimulation(config);
    const auto arrivals = bench::ArrivalsOf(*trace, setup->model_of, setup->class_of, setup->tenant_of);
    SimulationRun options;
    options.window = trace->length;
    return RunSimulation(*setup, *arrivals, options);
  };
  const auto priced = run(", price: 1.4");
  ASSERT_TRUE(priced.ok()) << priced.status();
  ASSERT_TRUE(priced->cost.has_value());
  EXPECT_NEAR(priced->cost->per_hour, 5, 1e-9);
  EXPECT_NEAR(priced->cost->per_million_active_tokens, 5.0 / 3600 / priced->results.active_tokens_per_s * 1e6, 1e-9);
  EXPECT_FALSE(run("")->cost.has_value());
}

TEST(Plan, WhatCannotBePlannedSaysWhy) {
  const Config config = Planned(
      "gpus: [{id: g0, kind: a100-80}, {id: g1, kind: a100-80}]\nreplicas:\n"
      "  - {id: r0, gpus: [g0], model: llama-3.1-8b, simulated: {}}\n"
      "  - {id: r1, gpus: [g1], model: llama-3.1-8b, simulated: {}}\n");
  const auto trace = bench::OpenTrace("generate:azure-conv", {50, Duration::Seconds(20), Duration()}, 1);
  PlanRequest request;
  request.gpu = "abacus";
  EXPECT_THAT(std::string(PlanFleet(config, *trace, request).status().message()), HasSubstr("unknown GPU kind"));
  request.gpu = "l4";
  request.most_gpus = 1;
  EXPECT_THAT(std::string(PlanFleet(config, *trace, request).status().message()), HasSubstr("needs more than 1 GPUs"));
}

}  // namespace
}  // namespace penstock
