// The GPUs' time and the wasted tokens on /metrics.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/telemetry/sample_view.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(GpuMetrics, EveryGpuHasEveryState) {
  GpuReport report;
  report.gpus.push_back({"node1/gpu0", {}, 0});
  report.gpus[0].time.seconds = {7200, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::string text = Telemetry().Serialise(CoreView(), 0, report);
  for (size_t i = 0; i < kGpuStates; ++i) {
    const std::string state(kGpuStateLabels[i]);
    const std::string value = std::to_string(static_cast<int>(report.gpus[0].time.seconds[i]));
    EXPECT_THAT(text, HasSubstr("penstock_gpu_seconds_total{gpu=\"node1/gpu0\",state=\"" + state + "\"} " + value));
  }
  EXPECT_THAT(text, HasSubstr("penstock_gpu_input_wait_seconds_total{gpu=\"node1/gpu0\"} 22"));
  EXPECT_THAT(text, Not(HasSubstr("penstock_gpu_cost_total{"))) << "it has no price";
}

TEST(GpuMetrics, StrandedMemoryHasTheUnitOfItsPool) {
  GpuReport report;
  report.gpus.push_back({.name = "g", .outside_pools = Bytes(9)});
  report.gpus.push_back({.name = "unknown"});
  report.pools = {{"r0", true, true, 5, 60, 12}, {"r1", false, false, 0, 7, 3}, {}};
  const std::string text = Telemetry().Serialise(CoreView(), 0, report);
  EXPECT_THAT(text, HasSubstr("penstock_pool_stranded_bytes{pool=\"r0\"} 5"));
  EXPECT_THAT(text, HasSubstr("penstock_pool_stranded_byte_seconds_total{pool=\"r0\"} 60"));
  EXPECT_THAT(text, HasSubstr("penstock_pool_stranded_tokens{pool=\"r1\"} 0"));
  EXPECT_THAT(text, HasSubstr("penstock_pool_stranded_token_seconds_total{pool=\"r1\"} 7"));
  EXPECT_THAT(text, HasSubstr("penstock_pool_memory_wait_seconds_total{pool=\"r1\"} 3"));
  EXPECT_THAT(text, HasSubstr("penstock_gpu_memory_outside_pools_bytes{gpu=\"g\"} 9"));
  EXPECT_THAT(text, Not(HasSubstr("penstock_gpu_memory_outside_pools_bytes{gpu=\"unknown\"}")));
  EXPECT_THAT(text, Not(HasSubstr("pool=\"\""))) << "a vacant place has no name";
}

TEST(GpuMetrics, WastedTokensHaveTheirCause) {
  Telemetry telemetry;
  RequestRecord late = SampleRecord();
  late.late_tokens = 3;
  telemetry.OnRequest(late);
  RequestRecord gone = SampleRecord();
  gone.outcome = RequestOutcome::kClientGone;
  gone.late_tokens = 0;
  gone.abandoned_tokens = 7;
  telemetry.OnRequest(gone);
  GpuReport report;
  report.recomputed_tokens = 40;
  const std::string text = telemetry.Serialise(CoreView(), 0, report);
  EXPECT_THAT(text, HasSubstr("penstock_wasted_tokens_total{cause=\"late\"} 3"));
  EXPECT_THAT(text, HasSubstr("penstock_wasted_tokens_total{cause=\"client_gone\"} 7"));
  EXPECT_THAT(text, HasSubstr("penstock_wasted_tokens_total{cause=\"recomputed\"} 40"));
}

}  // namespace
}  // namespace penstock
