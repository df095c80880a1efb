// The price of a replica: that of a second of all its GPUs.
#include <gtest/gtest.h>

#include "config/config.h"
#include "router/fleet/fleet_book.h"

namespace penstock {
namespace {

TEST(FleetPrices, AReplicaCostsWhatItsGpusCost) {
  const absl::StatusOr<Config> config = ParseConfig(
      "gpus: [{id: g0, kind: h100, price: 3.6}, {id: g1, kind: h100, price: 7.2}, {id: g2, kind: l4}]\n"
      "replicas:\n"
      "  - {id: a, url: http://h:1, gpus: [g0], model: llama-3.1-8b}\n"
      "  - {id: b, url: http://h:2, gpus: [g0, g1], tensor_parallel: 2, model: llama-3.1-8b}\n"
      "  - {id: c, url: http://h:3, gpus: [g2], model: qwen2.5-7b}\n",
      "f.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  const FleetBook book(*config);
  EXPECT_DOUBLE_EQ(book.fleet().replicas[0].price, 0.001);
  EXPECT_DOUBLE_EQ(book.fleet().replicas[1].price, 0.003);
  EXPECT_EQ(book.fleet().replicas[2].price, 0) << "not known";
}

}  // namespace
}  // namespace penstock
