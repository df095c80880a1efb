// Elastic memory and slices of devices, as the core's fleet describes them.
#include <gtest/gtest.h>

#include "router/fleet/fleet_book.h"

namespace penstock {
namespace {

Config WithParts(const std::string& yaml) {
  const absl::StatusOr<Config> config = ParseConfig(yaml, "f.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *config : Config{};
}

const PoolSpec& PoolOf(const FleetBook& book, size_t replica, size_t share) {
  return book.fleet().pools[book.fleet().replicas[replica].pools[share].pool.value()];
}

TEST(ElasticFleet, AReplicaWithALimitIsInThePoolOfItsGpuAndInItsOwn) {
  const FleetBook book(WithParts(
      "gpus: [{id: g, kind: a100-80, elastic_kv: 40GB, elastic: manage}]\n"
      "replicas: [{id: a, url: http://h:1, gpus: [g], model: llama-3.1-8b, elastic: {segment: a}},\n"
      "           {id: b, url: http://h:2, gpus: [g], model: qwen2.5-7b, kv_memory: 9GB, elastic: {segment: b}},\n"
      "           {id: c, url: http://h:3, gpus: [g], model: qwen2.5-3b}]\n"));
  ASSERT_EQ(book.fleet().replicas[0].pools.size(), 2u);
  EXPECT_EQ(PoolOf(book, 0, 0).name, "g");
  EXPECT_FALSE(PoolOf(book, 0, 0).limited);
  EXPECT_EQ(PoolOf(book, 0, 1).name, "a");
  EXPECT_TRUE(PoolOf(book, 0, 1).limited);
  EXPECT_EQ(PoolOf(book, 0, 1).capacity, Amount(40'000'000'000)) << "until its segment is read";
  EXPECT_EQ(PoolOf(book, 1, 1).capacity, Amount(9'000'000'000));
  EXPECT_EQ(book.fleet().replicas[2].pools.size(), 1u) << "its engine has no limit of its own";
  EXPECT_TRUE(book.fleet().gpus[0].managed);
  EXPECT_EQ(book.fleet().gpus[0].elastic, Bytes(40'000'000'000));
  EXPECT_LT(book.fleet().replicas[0].resident, Bytes(20'000'000'000)) << "the weights: the cache belongs to the GPU";
}

TEST(ElasticFleet, WithoutTheMemoryOfTheGpuOnlyTheLimitBounds) {
  const FleetBook book(WithParts(
      "gpus: [{id: g, kind: a100-80}]\n"
      "replicas: [{id: a, url: http://h:1, gpus: [g], model: llama-3.1-8b, kv_memory: 9GB, elastic: {segment: a}}]\n"));
  ASSERT_EQ(book.fleet().replicas[0].pools.size(), 1u);
  EXPECT_TRUE(PoolOf(book, 0, 0).limited);
}

TEST(SlicedFleet, TheStepsOfASliceFollowItsBandwidthAndItsCompute) {
  const FleetBook book(
      WithParts("gpus: [{id: w, kind: h100}, {id: s, kind: h100, slice: 3g.40gb}, {id: t, kind: h100, cores: 0.5}]\n"
                "replicas: [{id: a, url: http://h:1, gpus: [w], model: qwen2.5-7b},\n"
                "           {id: b, url: http://h:2, gpus: [s], model: qwen2.5-7b},\n"
                "           {id: c, url: http://h:3, gpus: [t], model: qwen2.5-7b}]\n"));
  const StepCoefficients& whole = book.fleet().replicas[0].prior;
  const StepCoefficients& slice = book.fleet().replicas[1].prior;
  const StepCoefficients& half = book.fleet().replicas[2].prior;
  EXPECT_NEAR(slice.c / whole.c, 2, 1e-9) << "KV reads go at half of the bandwidth";
  EXPECT_NEAR(slice.d / whole.d, 7.0 / 3, 1e-9) << "prefill computes with three sevenths";
  EXPECT_GT(slice.a, 1.5 * whole.a) << "weights are read at half of the bandwidth; launches cost the same";
  EXPECT_LT(slice.a, 2 * whole.a);
  EXPECT_NEAR(half.c / whole.c, 2, 1e-9);
  EXPECT_NEAR(half.d / whole.d, 2, 1e-9);
}

TEST(SlicedFleet, SlicesOfOneDeviceAreNoNeighbours) {
  const FleetBook book(
      WithParts("gpus: [{id: d/0, kind: h100, slice: 3g.40gb}, {id: d/1, kind: h100, slice: 3g.40gb}]\n"
                "replicas: [{id: a, url: http://h:1, gpus: [d/0], model: qwen2.5-7b},\n"
                "           {id: b, url: http://h:2, gpus: [d/1], model: qwen2.5-7b}]\n"));
  EXPECT_NE(book.fleet().replicas[0].gpus, book.fleet().replicas[1].gpus);
  EXPECT_EQ(book.fleet().gpus[0].memory, Bytes(40'000'000'000));
}

}  // namespace
}  // namespace penstock
