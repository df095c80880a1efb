// The class of a simulated request: the trace's column, the configuration's tenants, the default.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "app/simulate/simulation_setup.h"
#include "config/config.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

constexpr char kOneReplica[] =
    "gpus: [{id: g0, kind: a100-80}]\n"
    "replicas: [{id: r0, gpus: [g0], model: llama-3.1-8b, simulated: {}}]\n";

TEST(SimulatedClasses, TheClassColumnChoosesTheClassOfARequest) {
  const absl::StatusOr<Config> config =
      ParseConfig(std::string(kOneReplica) +
                      "classes:\n  standard: {ttft: 2s, tpot: 100ms, queue: 30s, default: true}\n"
                      "  batch: {ttft: 60s, tpot: 1s, queue: 300s}\n",
                  "fleet.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  const absl::StatusOr<SimulationSetup> setup = SetUpSimulation(*config);
  ASSERT_TRUE(setup.ok()) << setup.status();
  auto trace = bench::OpenTrace("generate:azure-conv", {4, Duration::Seconds(20), Duration()}, 7);
  ASSERT_TRUE(trace.ok());
  int64_t batch = 0;
  for (size_t i = 0; i < trace->requests.size(); i += 3, ++batch) trace->requests[i].service_class = "batch";
  const auto arrivals = bench::ArrivalsOf(*trace, setup->model_of, setup->class_of, setup->tenant_of);
  ASSERT_TRUE(arrivals.ok()) << arrivals.status();
  SimulationRun run;
  run.window = trace->length;

  const absl::StatusOr<bench::SimulationReport> report = RunSimulation(*setup, *arrivals, run);

  ASSERT_TRUE(report.ok()) << report.status();
  const auto& classes = report->results.per_class;
  ASSERT_EQ(classes.size(), 2u);
  EXPECT_EQ(classes.at("batch").offered, batch);
  EXPECT_EQ(classes.at("standard").offered, report->results.offered - batch);
}

TEST(SimulatedClasses, TheConfigurationGivesTheClassOfATenantUnlessTheTraceNamesOne) {
  const absl::StatusOr<Config> config = ParseConfig(std::string(kOneReplica) +
                                                        "trace: {classes: {acme: batch, '': background}}\n"
                                                        "classes: {batch: {ttft: 60s, tpot: 1s, queue: 300s}}\n",
                                                    "fleet.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  const absl::StatusOr<SimulationSetup> setup = SetUpSimulation(*config);
  ASSERT_TRUE(setup.ok()) << setup.status();
  const auto class_of = [&](const std::string& tenant, const std::string& column) {
    bench::TraceRequest request;
    request.tenant = tenant;
    request.service_class = column;
    return setup->spec.fleet.classes[setup->class_of(request)->value()].name;
  };
  EXPECT_EQ(class_of("acme", ""), "batch");
  EXPECT_EQ(class_of("acme", "interactive"), "interactive");
  EXPECT_EQ(class_of("", ""), "background");
  EXPECT_EQ(class_of("other", ""), "standard");
}

TEST(SimulatedClasses, ARequestThatNobodyGivesAClassHasThatOfItsTenantElseThatOfItsModel) {
  const absl::StatusOr<Config> config =
      ParseConfig(std::string(kOneReplica) +
                      "models: [{name: llama-3.1-8b, class: background}]\n"
                      "tenants: [{name: acme, keys: [k], class: interactive}, {name: globex, keys: [l]}]\n"
                      "trace: {models: {chat: llama-3.1-8b}, classes: {named: standard}}\n",
                  "fleet.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  const absl::StatusOr<SimulationSetup> setup = SetUpSimulation(*config);
  ASSERT_TRUE(setup.ok()) << setup.status();
  const auto class_of = [&](const std::string& tenant) {
    bench::TraceRequest request;
    request.model = "chat";
    request.tenant = tenant;
    return setup->spec.fleet.classes[setup->class_of(request)->value()].name;
  };
  EXPECT_EQ(class_of("acme"), "interactive");
  EXPECT_EQ(class_of("globex"), "background");
  EXPECT_EQ(class_of("named"), "standard");
}

TEST(SimulatedClasses, NoRequestIsInAClassAboveItsTenantsMaxClass) {
  const absl::StatusOr<Config> config = ParseConfig(
      std::string(kOneReplica) +
          "tenants: [{name: acme, keys: [k], class: interactive, max_class: standard}, {name: globex, keys: [l]}]\n",
      "fleet.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  const absl::StatusOr<SimulationSetup> setup = SetUpSimulation(*config);
  ASSERT_TRUE(setup.ok()) << setup.status();
  const auto class_of = [&](const std::string& tenant, const std::string& column) {
    bench::TraceRequest request;
    request.model = "llama-3.1-8b";
    request.tenant = tenant;
    request.service_class = column;
    return setup->spec.fleet.classes[setup->class_of(request)->value()].name;
  };
  EXPECT_EQ(class_of("acme", ""), "standard");
  EXPECT_EQ(class_of("acme", "interactive"), "standard");
  EXPECT_EQ(class_of("acme", "background"), "background");
  EXPECT_EQ(class_of("globex", "interactive"), "interactive");
}

TEST(SimulatedClasses, AnUnknownClassIsNamedByFileAndLine) {
  const absl::StatusOr<SimulationSetup> setup = SetUpSimulation(*ParseConfig(kOneReplica, "fleet.yaml"));
  bench::Trace trace;
  trace.source = "t.csv";
  trace.requests.resize(1);
  trace.requests[0].service_class = "urgent";
  trace.requests[0].model = "llama-3.1-8b";
  trace.requests[0].line = 2;

  const auto arrivals = bench::ArrivalsOf(trace, setup->model_of, setup->class_of, setup->tenant_of);

  EXPECT_THAT(std::string(arrivals.status().message()), HasSubstr("t.csv:2: no class is called \"urgent\""));
}

}  // namespace
}  // namespace penstock
