#include "router/live/gpu_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/clock.h"

namespace penstock {
namespace {

Instant At(double seconds) { return Instant::FromSeconds(seconds); }

// A fleet with a replica on each of these GPUs.
Fleet FleetOn(const std::vector<std::string>& names) {
  Fleet fleet;
  fleet.models = {{"m"}};
  for (uint32_t i = 0; i < names.size(); ++i) {
    fleet.gpus.push_back({.name = names[i]});
    ReplicaSpec replica;
    replica.models = {ModelId(0)};
    replica.gpus = {i};
    fleet.replicas.push_back(replica);
  }
  return fleet;
}

TEST(GpuWatch, GpusHaveTheNamesAndPricesOfTheNewestFleet) {
  GpuWatch watch;
  watch.SetPrices({{"b", 36}}, At(0));
  Fleet fleet = FleetOn({"a"});
  watch.Observe(FleetChanged{fleet}, At(10), {});
  fleet = FleetOn({"a", "b"});
  watch.Observe(FleetChanged{fleet}, At(20), {});
  const GpuReport report = watch.Report(At(120));
  ASSERT_EQ(report.gpus.size(), 2u);
  EXPECT_EQ(report.gpus[1].name, "b");
  EXPECT_DOUBLE_EQ(report.gpus[0].time.total(), 110);
  EXPECT_DOUBLE_EQ(report.gpus[1].time.total(), 100);
  EXPECT_DOUBLE_EQ(report.gpus[1].time.cost, 1);
  EXPECT_DOUBLE_EQ(report.price(), 0) << "one has no price";
}

TEST(GpuWatch, TheTimeOfAGpuThatLeftStays) {
  GpuWatch watch;
  watch.SetPrices({{"a", 2}, {"b", 3}}, At(0));
  Fleet fleet = FleetOn({"a", "b"});
  watch.Observe(FleetChanged{fleet}, At(0), {});
  EXPECT_DOUBLE_EQ(watch.Report(At(1)).price(), 5);
  fleet.replicas[0].removed = true;
  watch.Observe(FleetChanged{fleet}, At(10), {});
  const GpuReport report = watch.Report(At(30));
  EXPECT_DOUBLE_EQ(report.gpus[0].time.total(), 10);
  EXPECT_FALSE(report.gpus[0].present);
  EXPECT_DOUBLE_EQ(report.price(), 3);
  EXPECT_DOUBLE_EQ(report.fleet().total(), 40);
}

TEST(GpuWatch, TheStatesAddUpToWallTimeWhileLoopsAndReadersMeet) {
  GpuWatch watch;
  const Instant began = Now();
  watch.Observe(FleetChanged{FleetOn({"a"})}, began, {});
  std::atomic<bool> stop = false;
  std::thread sampler([&] {
    while (!stop) watch.Sample(std::vector<int64_t>{1}, {}, Now());
  });
  std::thread reader([&] {
    while (!stop) watch.Report(Now());
  });
  watch.Observe(ReplicaHealth{ReplicaId(0), Health::kUp}, Now(), {});
  for (uint64_t i = 1; i < 2'000; ++i) {
    RequestArrived arrived;
    arrived.request = RequestId(i);
    watch.Observe(arrived, Now(), {Forward{RequestId(i), ReplicaId(0)}});
    watch.Observe(FirstToken{RequestId(i)}, Now(), {});
    watch.Observe(RequestClosed{RequestId(i)}, Now(), {});
  }
  stop = true;
  sampler.join();
  reader.join();
  const Instant ended = Now();
  EXPECT_NEAR(watch.Report(ended).fleet().total(), (ended - began).seconds(), 1e-6);
}

}  // namespace
}  // namespace penstock
