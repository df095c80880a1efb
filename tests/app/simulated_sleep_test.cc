// Models that sleep in turn, in a simulated fleet and in a plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "app/simulate/fleet_plan.h"
#include "app/simulate/simulation_setup.h"
#include "config/config.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

// Five models of 7B, which do not fit on a GPU of 80 GB together. `more` has further keys of the replicas.
Config FiveModels(const std::string& more, bool one_gpu) {
  std::string gpus = "gpus:\n";
  std::string models = "models:\n";
  std::string replicas = "replicas:\n";
  for (const char name : {'a', 'b', 'c', 'd', 'e'}) {
    const std::string gpu = one_gpu ? "shared" : std::string("own-") + name;
    if (!one_gpu || name == 'a') gpus += "  - {id: " + gpu + ", kind: h100}\n";
    models += std::string("  - {name: model-") + name + ", shape: qwen2.5-7b}\n";
    absl::StrAppend(&replicas, "  - {id: ", std::string(1, name), ", gpus: [", gpu, "], model: model-",
                    std::string(1, name), ", ", more, "simulated: {}}\n");
  }
  const std::string classes = "classes: {standard: {ttft: 10s, tpot: 100ms, queue: 30s, default: true}}\n";
  const absl::StatusOr<Config> config = ParseConfig(gpus + models + replicas + classes, "fleet.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  return *config;
}

bench::Trace InTurn() { return *bench::OpenTrace("generate:rotation", {0.5, Duration::Seconds(300), Duration()}, 1); }

TEST(SimulatedSleep, EnginesSleepAndWakeByOrder) {
  const auto setup =
      SetUpSimulation(FiveModels("kv_memory: 4GB, resident: 24GB, sleep: {after: 20s, wake: 700ms}, ", true));
  ASSERT_TRUE(setup.ok()) << setup.status();
  const bench::Trace trace = InTurn();
  const auto arrivals = bench::ArrivalsOf(trace, setup->model_of, setup->class_of, setup->tenant_of);
  SimulationRun run;
  run.window = trace.length;
  const auto report = RunSimulation(*setup, *arrivals, run);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_TRUE(report->orders.has_value());
  EXPECT_GE(report->orders->wakes, 4);
  EXPECT_GE(report->orders->sleeps, 4);
  EXPECT_EQ(report->orders->failed, 0) << "no wake was ordered without memory for it";
  EXPECT_GT(report->orders->asleep, 300);
  EXPECT_GE(report->feasible_on_time_share, 0.99);
  EXPECT_THAT(bench::ReportJson(*report), HasSubstr("\"sleep\":{\"sleeps\":"));
}

TEST(SimulatedSleep, APlanPutsModelsOnOneGpuThatDoNotFitThereTogether) {
  PlanRequest request;
  request.gpu = "h100";
  const absl::StatusOr<FleetPlan> awake = PlanFleet(FiveModels("", false), InTurn(), request);
  ASSERT_TRUE(awake.ok()) << awake.status();
  EXPECT_EQ(awake->colocated.gpus.size(), 2u);
  EXPECT_FALSE(awake->colocated.gpus[0].sleeps);
  const absl::StatusOr<FleetPlan> asleep = PlanFleet(FiveModels("sleep: {wake: 700ms}, ", false), InTurn(), request);
  ASSERT_TRUE(asleep.ok()) << asleep.status();
  EXPECT_EQ(asleep->dedicated.gpus.size(), 5u);
  ASSERT_EQ(asleep->colocated.gpus.size(), 1u);
  EXPECT_TRUE(asleep->colocated.gpus[0].sleeps);
  EXPECT_GE(asleep->colocated.on_time_share, 0.99);
  EXPECT_EQ(asleep->colocated.gpus[0].models.size(), 5u);
  EXPECT_THAT(PlanTable({{*asleep}, 0, {}}), HasSubstr(" (sleeping in turn)\n"));
}

}  // namespace
}  // namespace penstock
