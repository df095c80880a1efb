// Limits in elastic memory, and slices, in a simulated fleet.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "app/simulate/simulation_setup.h"
#include "config/config.h"

namespace penstock {
namespace {

// Three models on one GPU with a limit of 8 GB each, out of 24 GB.
Config ThreeModels(const std::string& mode) {
  std::string models = "models:\n";
  std::string replicas = "replicas:\n";
  for (const char* name : {"model-a", "model-b", "model-c"}) {
    const char* shape = std::string(name) == "model-c" ? "qwen2.5-3b" : "llama-3.1-8b";
    absl::StrAppend(&models, "  - {name: ", name, ", shape: ", shape, "}\n");
    absl::StrAppend(&replicas, "  - {id: ", name, ", gpus: [g], model: ", name,
                    ", kv_memory: 8GB, elastic: {segment: ", name, "}, simulated: {}}\n");
  }
  const absl::StatusOr<Config> config =
      ParseConfig(absl::StrCat("gpus: [{id: g, kind: h100, elastic_kv: 24GB, elastic: ", mode, "}]\n", models, replicas,
                               "classes: {standard: {ttft: 2s, tpot: 100ms, queue: 30s, default: true}}\n"),
                  "fleet.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  return *config;
}

struct ElasticRun {
  bench::SimulationReport report;
  int orders = 0;
  int64_t most = 0;  // Bytes of all limits together, as reported.
};

ElasticRun SimulateElastic(const Config& config, double rate) {
  const auto setup = SetUpSimulation(config);
  EXPECT_TRUE(setup.ok()) << setup.status();
  const bench::Trace trace = *bench::OpenTrace("generate:antiphase", {rate, Duration::Seconds(300), Duration()}, 1);
  const auto arrivals = bench::ArrivalsOf(trace, setup->model_of, setup->class_of, setup->tenant_of);
  ElasticRun run;
  std::map<uint32_t, int64_t> limits;
  SimulationRun options;
  options.window = trace.length;
  options.observer = [&](const Event& event, Instant, const std::vector<Action>& actions) {
    for (const Action& action : actions) run.orders += std::holds_alternative<SetShare>(action) ? 1 : 0;
    if (const auto* report = std::get_if<ElasticReport>(&event)) {
      limits[report->replica.value()] = report->limit.value();
      int64_t sum = 0;
      for (const auto& [replica, limit] : limits) sum += limit;
      run.most = std::max(run.most, sum);
    }
  };
  const auto report = RunSimulation(*setup, *arrivals, options);
  EXPECT_TRUE(report.ok()) << report.status();
  run.report = *report;
  return run;
}

TEST(SimulatedElastic, LimitsThatMoveWithDemandCarryMoreThanThoseThatStay) {
  const ElasticRun read = SimulateElastic(ThreeModels("read"), 2.5);
  const ElasticRun managed = SimulateElastic(ThreeModels("manage"), 2.5);
  EXPECT_EQ(read.orders, 0);
  EXPECT_GE(managed.orders, 4);
  EXPECT_LE(managed.most, 24'000'000'000);
  EXPECT_GT(managed.report.results.active_tokens_per_s, 1.03 * read.report.results.active_tokens_per_s);
}

}  // namespace
}  // namespace penstock
