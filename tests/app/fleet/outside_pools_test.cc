#include "router/fleet/outside_pools.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock {
namespace {

FleetBook BookOf(const std::string& yaml) {
  const absl::StatusOr<Config> config = ParseConfig(yaml, "f.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  return FleetBook(config.ok() ? *config : Config{});
}

constexpr char kChat[] = "  - {id: a, url: http://h:1, gpus: [g0], model: llama-3.1-8b, kv_memory: 18GB}\n";

TEST(OutsidePools, IsTheMemoryBesideTheWeightsAndThePoolsOfAllReplicas) {
  const FleetBook one = BookOf(std::string("gpus: [{id: g0, kind: a100-80, memory: 80GB}]\nreplicas:\n") + kChat);
  const FleetBook two = BookOf(std::string("gpus: [{id: g0, kind: a100-80, memory: 80GB}]\nreplicas:\n") + kChat +
                               "  - {id: b, url: http://h:2, gpus: [g0], model: llama-3.1-8b, kv_memory: 10GB}\n");
  const std::optional<Bytes> beside_one = MemoryOutsidePools(one, 0);
  const std::optional<Bytes> beside_two = MemoryOutsidePools(two, 0);
  ASSERT_TRUE(beside_one && beside_two);
  EXPECT_NEAR(beside_one->AsDouble(), 80e9 - 18e9 - 16.06e9, 0.1e9);
  EXPECT_NEAR((*beside_one - *beside_two).AsDouble(), 10e9 + 16.06e9, 0.1e9);
}

TEST(OutsidePools, OneElasticPoolOfAGpuCountsOnce) {
  const FleetBook book = BookOf(
      "gpus: [{id: g0, kind: a100-80, memory: 80GB, elastic_kv: 30GB}]\nreplicas:\n"
      "  - {id: a, url: http://h:1, gpus: [g0], model: llama-3.1-8b}\n"
      "  - {id: b, url: http://h:2, gpus: [g0], model: llama-3.1-8b}\n");
  ASSERT_TRUE(MemoryOutsidePools(book, 0));
  EXPECT_NEAR(MemoryOutsidePools(book, 0)->AsDouble(), 80e9 - 30e9 - 2 * 16.06e9, 0.1e9);
}

TEST(OutsidePools, IsUnknownWhileOnePartIs) {
  const FleetBook gpu = BookOf("replicas:\n  - {id: a, url: http://h:1, model: llama-3.1-8b, kv_memory: 18GB}\n");
  EXPECT_EQ(MemoryOutsidePools(gpu, 0), std::nullopt) << "no GPU is configured";
  const FleetBook model = BookOf(std::string("gpus: [{id: g0, kind: a100-80}]\nreplicas:\n") + kChat +
                                 "  - {id: b, url: http://h:2, gpus: [g0]}\n");
  EXPECT_EQ(MemoryOutsidePools(model, 0), std::nullopt) << "the model of b is not known yet";
}

TEST(OutsidePools, AReportOfAnotherMomentGetsNoFigure) {
  const FleetBook book = BookOf(std::string("gpus: [{id: g0, kind: a100-80}]\nreplicas:\n") + kChat);
  GpuReport report;
  report.gpus.push_back({.name = "another"});
  AddMemoryOutsidePools(book, report);
  EXPECT_EQ(report.gpus[0].outside_pools, std::nullopt);
  report.gpus[0].name = "g0";
  AddMemoryOutsidePools(book, report);
  EXPECT_NE(report.gpus[0].outside_pools, std::nullopt);
}

}  // namespace
}  // namespace penstock
