// The roles of replicas in the core's fleet.
#include <gtest/gtest.h>

#include "config/config.h"
#include "router/fleet/fleet_book.h"

namespace penstock {
namespace {

TEST(FleetRoles, APrefillReplicaHandsItsCacheOverAtItsBandwidth) {
  const absl::StatusOr<Config> config = ParseConfig(
      "gpus: [{id: g0, kind: h100}, {id: g1, kind: h100}, {id: g2, kind: h100}]\n"
      "replicas:\n"
      "  - {id: p, url: http://h:1, gpus: [g0], model: llama-3.1-8b, kv_memory: 20GB, role: prefill, transfer: "
      "50GB/s}\n"
      "  - {id: d, url: http://h:2, gpus: [g1], model: llama-3.1-8b, kv_memory: 20GB, role: decode}\n"
      "  - {id: plain, url: http://h:3, gpus: [g2], model: qwen2.5-7b}\n",
      "f.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  const FleetBook book(*config);
  const std::vector<ReplicaSpec>& replicas = book.fleet().replicas;
  EXPECT_EQ(replicas[0].role, EngineRole::kPrefill);
  EXPECT_EQ(replicas[1].role, EngineRole::kDecode);
  EXPECT_EQ(replicas[2].role, EngineRole::kBoth);
  // 131,072 bytes a token, 50 GB a second.
  EXPECT_NEAR(replicas[0].transfer, 131'072 / 50e9, 1e-8);
  EXPECT_EQ(replicas[1].transfer, 0);
}

}  // namespace
}  // namespace penstock
