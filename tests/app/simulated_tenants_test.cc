// The limits of tenants hold in a simulation as in a live router.
#include <gtest/gtest.h>

#include <string>

#include "app/simulate/simulation_setup.h"
#include "config/config.h"

namespace penstock {
namespace {

std::string FleetWithTenants(const std::string& limit) {
  return "gpus: [{id: g0, kind: a100-80}]\n"
         "replicas: [{id: r0, gpus: [g0], model: llama-3.1-8b, simulated: {}}]\n"
         "tenants:\n"
         "  - {name: small, keys: ['sha256:" +
         std::string(64, 'a') + "']" + limit + "}\n  - {name: second, keys: ['sha256:" + std::string(64, 'b') + "']}\n";
}

// Two tenants send every other request of one trace.
bench::SimulationReport Simulate(const std::string& limit, const std::string& policy) {
  const absl::StatusOr<Config> config = ParseConfig(FleetWithTenants(limit), "fleet.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  const absl::StatusOr<SimulationSetup> setup = SetUpSimulation(*config);
  EXPECT_TRUE(setup.ok()) << setup.status();
  auto trace = bench::OpenTrace("generate:azure-conv", {4, Duration::Seconds(30), Duration()}, 7);
  EXPECT_TRUE(trace.ok()) << trace.status();
  for (size_t i = 0; i < trace->requests.size(); ++i) trace->requests[i].tenant = i % 2 == 0 ? "small" : "second";
  const auto arrivals = bench::ArrivalsOf(*trace, setup->model_of, setup->class_of, setup->tenant_of);
  EXPECT_TRUE(arrivals.ok()) << arrivals.status();
  SimulationRun run;
  run.window = trace->length;
  run.policy = policy;
  const absl::StatusOr<bench::SimulationReport> report = RunSimulation(*setup, *arrivals, run);
  EXPECT_TRUE(report.ok()) << report.status();
  return *report;
}

TEST(SimulatedTenants, ALimitedTenantIsRefusedAndTheOtherIsServed) {
  for (const char* policy : {"penstock", "round_robin"}) {
    const bench::SimulationReport report = Simulate(", tokens_per_minute: 10k", policy);
    const auto& tenants = report.results.per_tenant;
    EXPECT_EQ(tenants.at("second").refused, 0) << policy;
    EXPECT_GT(tenants.at("small").refused, 0) << policy;
    EXPECT_LT(tenants.at("small").refused, tenants.at("small").offered) << policy;
    EXPECT_EQ(report.results.refused.at("tenant_tokens"), tenants.at("small").refused) << policy;
  }
}

TEST(SimulatedTenants, RequestsAtATimeAreBoundedToo) {
  const bench::SimulationReport report = Simulate(", max_concurrent: 1", "penstock");
  EXPECT_GT(report.results.refused.at("tenant_requests"), 0);
  EXPECT_EQ(report.results.per_tenant.at("second").refused, 0);
}

TEST(SimulatedTenants, ATenantWithoutALimitIsNeverRefusedForOne) {
  EXPECT_TRUE(Simulate("", "penstock").results.refused.empty());
}

TEST(SimulatedTenants, ATenantOfTheTraceHasTheIdOfTheConfiguration) {
  const absl::StatusOr<SimulationSetup> setup = SetUpSimulation(*ParseConfig(FleetWithTenants(""), "fleet.yaml"));
  ASSERT_TRUE(setup.ok()) << setup.status();
  EXPECT_EQ(setup->tenant_of("second"), setup->spec.fleet.tenants.at(1).id);
  EXPECT_EQ(setup->tenant_of("stranger"), std::nullopt);
}

}  // namespace
}  // namespace penstock
