#include "app/shadow/counterfactual.h"

#include <gtest/gtest.h>

#include "router/policies/policy_factory.h"
#include "tests/shadow/shadow_fleet.h"

namespace penstock {
namespace {

bool Always() { return true; }

// Reality by hand: requests arrive and end when the test says so.
class ByHand {
 public:
  ByHand()
      : copies([](bool shadow) { return MakePolicy(shadow ? "penstock" : "round_robin", 1); },
               [this] {
                 CoreView view;
                 view.replicas.resize(2);
                 for (ReplicaView& replica : view.replicas) replica.step_factor = factor;
                 return view;
               },
               1) {
    copies.SetFleet(ShadowFleet(2));
    for (uint32_t i = 0; i < 2; ++i) copies.SetHealth(ReplicaId(i), Health::kUp, At());
  }

  Instant At() const { return Instant::FromSeconds(now); }
  void Arrives(uint64_t id) {
    TrackedRequest& request = requests[id];
    request.request.request = RequestId(id);
    request.request.prompt = Tokens(500);
    request.arrived = At();
    copies.Arrived(request.request, At());
  }
  void Ends(uint64_t id, Outcome outcome = Outcome::kFinished, int64_t output = 20) {
    const RequestClosed closed{RequestId(id), outcome, Tokens(600), Tokens(output)};
    const Service service = ServiceOf({requests[id].arrived, std::nullopt, At(), output, outcome == Outcome::kFinished},
                                      Duration::Seconds(2), Duration::Milliseconds(100));
    copies.Ended(requests[id], &closed, service, At());
  }
  CounterfactualReport Report() {
    copies.Advance(At(), Always);
    CounterfactualReport report;
    copies.Show(report, At());
    return report;
  }

  Counterfactual copies;
  std::map<uint64_t, TrackedRequest> requests;
  double factor = 1;
  double now = 1;
};

TEST(Counterfactual, ARequestEntersTheCopiesOnceItsEndIsKnown) {
  ByHand world;
  world.Arrives(1);
  world.Arrives(2);
  world.now = 5;
  world.Ends(2);
  EXPECT_EQ(world.Report().starts, 0) << "the first one still runs";
  world.Ends(1);
  world.now = 20;
  const CounterfactualReport report = world.Report();
  EXPECT_EQ(report.starts, 1);
  EXPECT_EQ(report.real.requests, 2);
  EXPECT_EQ(report.real.on_time, 0) << "they took four seconds";
  EXPECT_EQ(report.decides.on_time, 2);
  EXPECT_EQ(report.shadow.on_time, 2);
  EXPECT_EQ(report.behind, 0);
}

TEST(Counterfactual, AnAnswerWithoutAnEndIsGivenUpAfterAWhile) {
  ByHand world;
  world.Arrives(1);
  world.now += Counterfactual::kPatience.seconds() + 1;
  world.Report();
  world.now += 60;
  const CounterfactualReport report = world.Report();
  EXPECT_EQ(report.left_out, 1);
  EXPECT_EQ(report.drawn, 1);
  EXPECT_EQ(report.real.requests, 0);
  world.Ends(1);
}

TEST(Counterfactual, ARefusedRequestGetsALengthOfItsModel) {
  ByHand world;
  world.Arrives(1);
  world.Arrives(2);
  world.copies.Ended(world.requests[1], nullptr, Service{}, world.At());
  world.Ends(2);
  world.now = 60;
  const CounterfactualReport report = world.Report();
  EXPECT_EQ(report.drawn, 1);
  EXPECT_EQ(report.real.refused, 1);
  EXPECT_EQ(report.shadow.on_time, 2) << "an idle copy serves it";
}

TEST(Counterfactual, AClientThatLeftRunsAndIsNotCompared) {
  ByHand world;
  world.Arrives(1);
  world.now = 3;
  world.Ends(1, Outcome::kClientGone, 4);
  world.now = 60;
  EXPECT_EQ(world.Report().left_out, 1);
  EXPECT_EQ(world.Report().real.requests, 0);
}

TEST(Counterfactual, AReplicaThatIsDownServesNobodyOnTheCopies) {
  ByHand world;
  world.copies.SetHealth(ReplicaId(0), Health::kDown, world.At());
  world.copies.SetHealth(ReplicaId(1), Health::kDown, world.At());
  world.Arrives(1);
  world.Ends(1);
  world.now = 60;
  EXPECT_EQ(world.Report().shadow.refused, 1);
}

TEST(Counterfactual, AReplicaThatDiesLaterWasUpBefore) {
  ByHand world;
  world.Arrives(1);
  world.now = 2;
  world.copies.SetHealth(ReplicaId(0), Health::kDown, world.At());
  world.copies.SetHealth(ReplicaId(1), Health::kDown, world.At());
  world.now = 3;
  world.Ends(1);
  world.Arrives(2);
  world.Ends(2);
  world.copies.SetHealth(ReplicaId(1), Health::kUp, world.At());
  world.now = 60;
  EXPECT_EQ(world.Report().shadow.on_time, 2) << "the second one waits for the replica that comes back";
  EXPECT_EQ(world.Report().starts, 1);
}

TEST(Counterfactual, SlowerEnginesStartTheCopiesAgain) {
  ByHand world;
  for (int i = 1; i <= 3; ++i) {
    world.Arrives(i);
    world.Ends(i);
    world.now += Counterfactual::kReview.seconds() + 1;
    world.factor = i == 2 ? 3 : world.factor;
    EXPECT_EQ(world.Report().starts, i < 2 ? 1 : 2) << i;
  }
}

TEST(Counterfactual, CopiesThatAreTooSlowGiveUpWhatWaitsForThem) {
  ByHand world;
  const auto never = [] { return false; };
  for (size_t i = 1; i <= Counterfactual::kMostPending + 10; ++i) {
    world.now += 0.001;
    world.Arrives(i);
    world.Ends(i);
    world.copies.Advance(world.At(), never);
  }
  CounterfactualReport report;
  world.copies.Show(report, world.At());
  EXPECT_GE(report.cut_off, static_cast<int64_t>(Counterfactual::kMostPending) - 2);
  EXPECT_EQ(report.real.requests, 0);
  world.now += 30;
  EXPECT_EQ(world.Report().starts, 2) << "they start again at the present";
  EXPECT_EQ(world.Report().behind, 0);
}

TEST(Counterfactual, IdleCopiesAreDropped) {
  ByHand world;
  world.Arrives(1);
  world.Ends(1);
  world.now += Counterfactual::kIdle.seconds() / 2;
  EXPECT_EQ(world.Report().real.requests, 1);
  const double seconds = world.Report().seconds;
  world.now += 2 * Counterfactual::kIdle.seconds();
  world.Report();
  world.now += 1000;
  EXPECT_LT(world.Report().seconds, seconds + 3 * Counterfactual::kIdle.seconds()) << "nobody advances them";
  world.Arrives(2);
  world.Ends(2);
  world.now += 30;
  EXPECT_EQ(world.Report().starts, 2);
  EXPECT_EQ(world.Report().real.requests, 2) << "reality was as empty as the copies: no warm-up";
  EXPECT_EQ(world.Report().cut_off, 0);
}

TEST(Counterfactual, ARequestThatTheEngineRefusesNeverEntersTheCopies) {
  ByHand world;
  world.Arrives(1);
  world.Ends(1, Outcome::kRejected, 0);
  world.now = 60;
  EXPECT_EQ(world.Report().left_out, 1);
  EXPECT_EQ(world.Report().drawn, 0);
  EXPECT_EQ(world.Report().real.requests, 0);
}

TEST(Counterfactual, ARequestOfSeveralSequencesIsNotCompared) {
  ByHand world;
  world.requests[1].request.sequences = 3;
  world.Arrives(1);
  world.Ends(1);
  world.now = 60;
  EXPECT_EQ(world.Report().left_out, 1);
  EXPECT_EQ(world.Report().real.requests, 0);
}

TEST(Counterfactual, AfterLostEventsTheCopiesStartAgainWithAWarmUp) {
  ByHand world;
  world.Arrives(1);
  world.Ends(1);
  world.now = 2;
  world.Report();
  world.Arrives(2);
  world.copies.Restart();
  const int64_t before = world.Report().cut_off;
  EXPECT_GE(before, 1) << "its end is unknown";
  world.Arrives(3);
  world.Ends(3);
  world.now += Counterfactual::kWarmUp.seconds() + 1;
  world.Report();
  EXPECT_EQ(world.Report().cut_off, before + 1) << "the copies were empty and reality was not";
  const int64_t compared = world.Report().real.requests;
  world.Arrives(4);
  world.Ends(4);
  world.now += 30;
  EXPECT_EQ(world.Report().real.requests, compared + 1);
}

TEST(Counterfactual, SumsOfWrongSpeedsAreDiscarded) {
  ByHand world;
  world.Arrives(1);
  world.Ends(1);
  world.now += Counterfactual::kReview.seconds() + 1;
  EXPECT_EQ(world.Report().real.requests, 1);
  world.factor = 3;
  world.Arrives(2);
  world.Ends(2);
  world.now += 30;
  const CounterfactualReport report = world.Report();
  EXPECT_EQ(report.starts, 2);
  EXPECT_EQ(report.real.requests, 0);
  EXPECT_EQ(report.cut_off, 2) << "one that was compared, and one of the warm-up";
  EXPECT_EQ(report.ever[0].requests, 1) << "counters never fall";
}

TEST(Counterfactual, AReplicaThatDrainsTakesNothingNewOnTheCopies) {
  ByHand world;
  world.copies.SetHealth(ReplicaId(0), Health::kDraining, world.At());
  world.copies.SetHealth(ReplicaId(1), Health::kDraining, world.At());
  world.Arrives(1);
  world.Ends(1);
  world.now = 60;
  EXPECT_EQ(world.Report().shadow.on_time, 0);
}

TEST(Counterfactual, AReplicaWhoseDrainIsUndoneKeepsItsWork) {
  ByHand world;
  world.Arrives(1);
  world.now += 0.01;  // In the middle of its prefill.
  for (const uint32_t replica : {0u, 1u}) {
    world.copies.SetHealth(ReplicaId(replica), Health::kDraining, world.At());
    world.copies.SetHealth(ReplicaId(replica), Health::kUp, world.At());
  }
  world.Ends(1);
  world.now = 60;
  EXPECT_EQ(world.Report().shadow.on_time, 1);
}

TEST(Counterfactual, ACallerMayStopItAtAnyTime) {
  ByHand world;
  world.Arrives(1);
  world.Ends(1);
  world.now = 100;
  int calls = 0;
  EXPECT_TRUE(world.copies.Advance(world.At(), [&calls] { return ++calls < 3; }));
  EXPECT_FALSE(world.copies.Advance(world.At(), Always));
}

TEST(Counterfactual, AFleetThatCannotBeCopiedSaysWhy) {
  ByHand world;
  Fleet fleet = ShadowFleet(2);
  fleet.replicas[0].pools.clear();
  world.copies.SetFleet(fleet);
  world.Arrives(1);
  world.Ends(1);
  world.now = 10;
  EXPECT_EQ(world.Report().unavailable, "replica r0: its KV memory is unknown");
}

}  // namespace
}  // namespace penstock
