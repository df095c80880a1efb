// The rules of adapters that engines load by order, as a core shows them: events in, orders out.
#include "router/core/adapters/adapters.h"

#include <gtest/gtest.h>

#include "tests/core/residency/sleeping_fleet.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::CoreStepper;
using testing::FleetOptions;
using testing::MakeFleet;
using testing::Text;

constexpr uint32_t kBase = 0, kRed = 1, kBlue = 2, kGreen = 3;  // Models: a base and its adapters.

// Replicas of one base model that may load each of three adapters, `most` of them at a time.
Fleet AdapterFleet(int replicas, int most) {
  FleetOptions plain;
  plain.replicas = replicas;
  Fleet fleet = MakeFleet(plain);
  fleet.models.clear();
  for (const char* name : {"base", "red", "blue", "green"}) fleet.models.push_back({name});
  for (ClassSpec& service_class : fleet.classes) service_class.ttft = service_class.queue = Duration::Seconds(600);
  for (uint32_t i = kRed; i <= kGreen; ++i) fleet.models[i].base = ModelId(kBase);
  for (ReplicaSpec& replica : fleet.replicas) {
    replica.models = {ModelId(kBase), ModelId(kRed), ModelId(kBlue), ModelId(kGreen)};
    replica.adapters.on_demand = {ModelId(kRed), ModelId(kBlue), ModelId(kGreen)};
    replica.adapters.most = most;
    replica.adapters.load = Duration::Seconds(1);
    replica.adapters.timeout = Duration::Seconds(30);
  }
  return fleet;
}

class AdapterCore : public CoreStepper {
 public:
  explicit AdapterCore(int replicas, int most = 2) : AdapterCore(AdapterFleet(replicas, most)) {}
  explicit AdapterCore(const Fleet& its_fleet) : CoreStepper(its_fleet), fleet(its_fleet) {}

  std::vector<Action> ArriveFor(uint64_t id, uint32_t model) {
    RequestArrived event;
    event.request = RequestId(id);
    event.model = ModelId(model);
    event.service_class = ClassId(1);
    event.prompt = Tokens(100);
    return Send(event);
  }
  std::vector<Action> Loaded(uint32_t replica, uint32_t model, double took = 1) {
    return Send(AdapterResidency{ReplicaId(replica), ModelId(model), true, false, Duration::Seconds(took)});
  }
  std::vector<Action> NotLoaded(uint32_t replica, uint32_t model, bool failed) {
    return Send(AdapterResidency{ReplicaId(replica), ModelId(model), false, failed, Duration::Seconds(failed ? 1 : 0)});
  }
  // The replica has the adapter since a while, and nobody uses it.
  void Have(uint32_t replica, uint32_t model) {
    Loaded(replica, model, 0);
    Wait(Duration::Seconds(1));
  }

  Fleet fleet;
};

TEST(Adapters, ARequestWaitsWhileAnEngineLoadsItsAdapter) {
  AdapterCore core(1);
  const std::vector<Action> arrived = core.ArriveFor(1, kRed);
  ASSERT_EQ(AllOf<Park>(arrived).size(), 1u) << Text(arrived);
  EXPECT_EQ(AllOf<Park>(arrived)[0].reason, WaitReason::kLoadingAdapter);
  ASSERT_EQ(AllOf<LoadAdapter>(arrived).size(), 1u) << Text(arrived);
  EXPECT_EQ(AllOf<LoadAdapter>(arrived)[0], (LoadAdapter{ReplicaId(0), ModelId(kRed), std::nullopt}));
  const std::vector<Action> loaded = core.Loaded(0, kRed);
  ASSERT_EQ(AllOf<Forward>(loaded).size(), 1u) << Text(loaded);
}

TEST(Adapters, ASecondRequestOrdersNoSecondLoad) {
  AdapterCore core(1);
  core.ArriveFor(1, kRed);
  EXPECT_TRUE(AllOf<LoadAdapter>(core.ArriveFor(2, kRed)).empty());
  EXPECT_TRUE(AllOf<LoadAdapter>(core.ArriveFor(3, kBlue)).empty()) << "one load of a replica at a time";
  EXPECT_EQ(AllOf<LoadAdapter>(core.Loaded(0, kRed)).size(), 1u) << "the other follows";
}

TEST(Adapters, TheBaseModelWaitsForNoAdapter) {
  AdapterCore core(1);
  core.ArriveFor(1, kRed);
  EXPECT_EQ(AllOf<Forward>(core.ArriveFor(2, kBase)).size(), 1u);
}

TEST(Adapters, ARequestGoesOnlyToAReplicaThatHasItsAdapter) {
  AdapterCore core(2);
  core.Have(1, kRed);
  for (uint64_t id = 1; id <= 3; ++id) {
    const std::vector<Action> arrived = core.ArriveFor(id, kRed);
    ASSERT_EQ(AllOf<Forward>(arrived).size(), 1u) << Text(arrived);
    EXPECT_EQ(AllOf<Forward>(arrived)[0].replica, ReplicaId(1));
  }
}

TEST(Adapters, TheAdapterThatWasUsedLongestAgoLeaves) {
  AdapterCore core(1, 2);
  core.Have(0, kRed);
  core.Have(0, kBlue);
  core.ArriveFor(1, kRed);
  core.Finish(1, 10);
  const std::vector<Action> arrived = core.ArriveFor(2, kGreen);
  ASSERT_EQ(AllOf<LoadAdapter>(arrived).size(), 1u) << Text(arrived);
  EXPECT_EQ(AllOf<LoadAdapter>(arrived)[0].instead_of, ModelId(kBlue));
  EXPECT_EQ(AllOf<Park>(core.ArriveFor(3, kBlue)).size(), 1u) << "it is not there any more";
}

TEST(Adapters, AnAdapterInUseLeavesOnlyAfterAWhile) {
  AdapterCore core(1, 1);
  core.Have(0, kRed);
  core.ArriveFor(1, kRed);
  core.Send(FirstToken{RequestId(1)});
  EXPECT_TRUE(AllOf<LoadAdapter>(core.ArriveFor(2, kBlue)).empty()) << "somebody runs the other one";
  const std::vector<Action> later = core.RunTimers(core.now + Duration::Seconds(12));
  ASSERT_EQ(AllOf<LoadAdapter>(later).size(), 1u) << Text(later);
  EXPECT_EQ(AllOf<LoadAdapter>(later)[0].instead_of, ModelId(kRed));
}

TEST(Adapters, OneThatWasJustLoadedStaysForTheRequestsThatWaitForIt) {
  Fleet fleet = AdapterFleet(1, 1);
  fleet.replicas[0].max_sequences = 1;
  AdapterCore core(fleet);
  core.ArriveFor(1, kBase);
  core.Send(FirstToken{RequestId(1)});
  ASSERT_EQ(AllOf<LoadAdapter>(core.ArriveFor(2, kRed)).size(), 1u);
  core.ArriveFor(3, kBlue);
  EXPECT_TRUE(AllOf<LoadAdapter>(core.Loaded(0, kRed)).empty()) << "the base model has the only row";
  EXPECT_TRUE(AllOf<LoadAdapter>(core.RunTimers(core.now + Duration::Seconds(0.9))).empty());
  const std::vector<Action> ended = core.Finish(1, 10);
  ASSERT_EQ(AllOf<Forward>(ended).size(), 1u) << Text(ended);
  EXPECT_EQ(AllOf<Forward>(ended)[0].request, RequestId(2));
}

TEST(Adapters, AFreeOneIsLoadedOnceTheOtherIsNotUsed) {
  AdapterCore core(1, 1);
  core.Have(0, kRed);
  core.ArriveFor(1, kRed);
  core.ArriveFor(2, kBlue);
  const std::vector<Action> ended = core.Finish(1, 10);
  ASSERT_EQ(AllOf<LoadAdapter>(ended).size(), 1u) << Text(ended);
}

TEST(Adapters, AFailedLoadIsAnErrorOfItsAdapterOnly) {
  AdapterCore core(1);
  core.ArriveFor(1, kRed);
  core.NotLoaded(0, kRed, true);
  const std::vector<Action> refused = core.RunTimers(core.now + Duration::Milliseconds(200));
  ASSERT_EQ(AllOf<Refuse>(refused).size(), 1u) << Text(refused);
  EXPECT_EQ(AllOf<Refuse>(refused)[0].reason, Refusal::kAdapterFailed);
  EXPECT_EQ(AllOf<LoadAdapter>(core.ArriveFor(2, kBlue)).size(), 1u);
  EXPECT_EQ(AllOf<Forward>(core.ArriveFor(3, kBase)).size(), 1u);
}

TEST(Adapters, AnotherReplicaLoadsWhatOneCouldNot) {
  AdapterCore core(2);
  const std::vector<Action> arrived = core.ArriveFor(1, kRed);
  ASSERT_EQ(AllOf<LoadAdapter>(arrived).size(), 1u);
  const uint32_t first = AllOf<LoadAdapter>(arrived)[0].replica.value();
  const std::vector<Action> failed = core.NotLoaded(first, kRed, true);
  ASSERT_EQ(AllOf<LoadAdapter>(failed).size(), 1u) << Text(failed);
  EXPECT_EQ(AllOf<LoadAdapter>(failed)[0].replica, ReplicaId(1 - first));
}

TEST(Adapters, AFailedAdapterIsTriedAgainAfterAPause) {
  AdapterCore core(1);
  core.ArriveFor(1, kRed);
  core.NotLoaded(0, kRed, true);
  core.RunTimers(core.now + Duration::Milliseconds(200));
  EXPECT_TRUE(AllOf<LoadAdapter>(core.ArriveFor(2, kRed)).empty());
  core.Wait(Duration::Seconds(3));
  EXPECT_EQ(AllOf<LoadAdapter>(core.ArriveFor(3, kRed)).size(), 1u);
}

TEST(Adapters, ALoadWithoutAnEndCountsAsFailed) {
  AdapterCore core(1);
  core.ArriveFor(1, kRed);
  const std::vector<Action> later = core.RunTimers(core.now + Duration::Seconds(40));
  ASSERT_EQ(AllOf<Refuse>(later).size(), 1u) << Text(later);
  EXPECT_EQ(AllOf<Refuse>(later)[0].reason, Refusal::kAdapterFailed);
}

TEST(Adapters, AnAdapterThatVanishedIsLoadedAgain) {
  AdapterCore core(1);
  core.Have(0, kRed);
  core.NotLoaded(0, kRed, false);
  EXPECT_EQ(AllOf<LoadAdapter>(core.ArriveFor(1, kRed)).size(), 1u);
}

TEST(Adapters, ALoadAvoidsANodeWhoseStorageIsBusy) {
  AdapterCore core(2);
  core.Send(NodeReport{ReplicaId(0), 1, 0.9, false});
  core.ArriveFor(1, kBase);
  core.ArriveFor(2, kBase);
  core.ArriveFor(3, kBase);
  const std::vector<Action> arrived = core.ArriveFor(4, kRed);
  ASSERT_EQ(AllOf<LoadAdapter>(arrived).size(), 1u) << Text(arrived);
  EXPECT_EQ(AllOf<LoadAdapter>(arrived)[0].replica, ReplicaId(1));
}

TEST(Adapters, ALoadAvoidsAReplicaWhoseLoadsTookLong) {
  AdapterCore core(2, 3);
  core.ArriveFor(1, kRed);
  core.Loaded(0, kRed, 20);
  const std::vector<Action> arrived = core.ArriveFor(2, kBlue);
  ASSERT_EQ(AllOf<LoadAdapter>(arrived).size(), 1u) << Text(arrived);
  EXPECT_EQ(AllOf<LoadAdapter>(arrived)[0].replica, ReplicaId(1));
}

// The second replica has the adapter and sleeps; the first one is awake and idle.
class SleepingHost : public AdapterCore {
 public:
  SleepingHost() : AdapterCore(SleepingFleet()) {
    Have(1, kRed);
    Told(Residency::kAsleep);
  }
  void Told(Residency residency) { Send(ReplicaResidency{ReplicaId(1), residency, false, Duration::Seconds(1)}); }

 private:
  static Fleet SleepingFleet() {
    Fleet fleet = AdapterFleet(2, 2);
    fleet.gpus = {{"gpu0", Bytes(20)}, {"gpu1", Bytes(20)}};
    fleet.replicas[1].resident = Bytes(10);
    fleet.replicas[1].sleep = SleepSpec{Duration::Seconds(600), Duration::Seconds(20)};
    return fleet;
  }
};

TEST(Adapters, AReplicaThatSleepsWithAnAdapterStopsNoOtherFromLoadingIt) {
  SleepingHost core;
  const std::vector<Action> arrived = core.ArriveFor(1, kRed);
  ASSERT_EQ(AllOf<LoadAdapter>(arrived).size(), 1u) << Text(arrived);
  EXPECT_EQ(AllOf<LoadAdapter>(arrived)[0].replica, ReplicaId(0));
}

TEST(Adapters, AnAdapterThatOnlyASleeperHasIsNotHopeless) {
  SleepingHost core;
  core.ArriveFor(1, kRed);
  const std::vector<Action> failed = core.NotLoaded(0, kRed, true);
  EXPECT_TRUE(AllOf<Refuse>(failed).empty()) << Text(failed);
  const std::vector<Action> later = core.RunTimers(core.now + Duration::Seconds(1));
  EXPECT_TRUE(AllOf<Refuse>(later).empty()) << Text(later);
}

TEST(Adapters, AFurtherReplicaLoadsAnAdapterWhoseRequestsWait) {
  AdapterCore core(2);
  core.Have(0, kRed);
  const int rows = core.fleet.replicas[0].max_sequences;
  uint64_t id = 1;
  while (AllOf<Forward>(core.ArriveFor(id, kRed)).size() == 1 && id < 4 * static_cast<uint64_t>(rows)) ++id;
  const std::vector<Action> later = core.RunTimers(core.now + Duration::Seconds(3));
  ASSERT_EQ(AllOf<LoadAdapter>(later).size(), 1u) << Text(later);
  EXPECT_EQ(AllOf<LoadAdapter>(later)[0].replica, ReplicaId(1));
}

}  // namespace
}  // namespace penstock
