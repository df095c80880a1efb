// The whole simulation under a scripted core: which events it tells, and what it does with each action.
#include "bench/simulation/fleet_simulation.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/bench/simulation/simulation_fixture.h"

namespace penstock::bench {
namespace {

// Forwards every arrived or requeued request to the replica that the script names, and records all events.
class ScriptedCore : public AdmissionCore {
 public:
  using Script = std::function<void(const Event&, std::vector<Action>&)>;
  explicit ScriptedCore(Script script) : script_(std::move(script)) {}

  void Apply(const Event& event, Instant, std::vector<Action>& actions) override {
    events_.push_back(event);
    script_(event, actions);
  }
  std::optional<Instant> NextDeadline() const override { return std::nullopt; }
  CoreView View(Instant) const override { return {}; }
  std::optional<WaitView> WaitOf(RequestId) const override { return std::nullopt; }

  template <class T>
  std::vector<T> All() const {
    std::vector<T> found;
    for (const Event& event : events_) {
      if (const auto* one = std::get_if<T>(&event)) found.push_back(*one);
    }
    return found;
  }

 private:
  Script script_;
  std::vector<Event> events_;
};

Forward To(RequestId request, uint32_t replica) {
  Forward forward;
  forward.request = request;
  forward.replica = ReplicaId(replica);
  return forward;
}

// Everything goes to `replica`, also after a return.
ScriptedCore::Script AllTo(uint32_t replica) {
  return [replica](const Event& event, std::vector<Action>& actions) {
    if (const auto* arrived = std::get_if<RequestArrived>(&event)) actions.push_back(To(arrived->request, replica));
    if (const auto* back = std::get_if<RequestRequeued>(&event)) actions.push_back(To(back->request, replica));
  };
}

SimulationOptions Quick() {
  SimulationOptions options;
  options.window = Duration::Seconds(10);
  options.prompt_error = 0;
  return options;
}

TEST(FleetSimulation, ALongIdleTimeCostsFewEvents) {
  ScriptedCore core(AllTo(0));
  const SimulationOutcome outcome =
      FleetSimulation(FleetOf(1), core, Quick()).Run({ArrivalAt(1, 100, 5), ArrivalAt(1e7, 100, 5)});
  ASSERT_EQ(outcome.records.size(), 2u);
  EXPECT_EQ(outcome.records[1].fate, Fate::kFinished);
  // Two link delays of 0.5 ms, a prefill step of 20 ms, four decode steps of 10 ms.
  EXPECT_EQ(outcome.records[1].end, Duration::Seconds(1e7) + Duration::Milliseconds(61));
  const std::vector<EngineReport> reports = core.All<EngineReport>();
  EXPECT_LT(reports.size(), 4000u);
  EXPECT_GT(reports[reports.size() - 2].sampled_at, Instant::FromSeconds(1e7 - 1)) << "the router is up to date";
}

TEST(FleetSimulation, TenantsWithoutARequestAreNotTold) {
  ScriptedCore core(AllTo(0));
  SimulatedFleetSpec spec = FleetOf(1);
  for (uint64_t i = 1; i <= 1000; ++i) spec.fleet.tenants.push_back({TenantId(i), "t" + std::to_string(i)});
  SimulatedArrival arrival = ArrivalAt(1, 100, 5);
  arrival.tenant = TenantId(7);
  FleetSimulation(spec, core, Quick()).Run({arrival});
  const std::vector<FleetChanged> told = core.All<FleetChanged>();
  ASSERT_EQ(told.size(), 1u);
  ASSERT_EQ(told[0].fleet.tenants.size(), 1u);
  EXPECT_EQ(told[0].fleet.tenants[0].name, "t7");
}

TEST(FleetSimulation, ARequestIsToldFromItsArrivalToItsEnd) {
  ScriptedCore core(AllTo(1));
  const SimulationOutcome outcome = FleetSimulation(FleetOf(2), core, Quick()).Run({ArrivalAt(1, 100, 5)});

  ASSERT_EQ(core.All<FleetChanged>().size(), 1u);
  EXPECT_EQ(core.All<ReplicaHealth>().size(), 2u);
  ASSERT_EQ(core.All<RequestArrived>().size(), 1u);
  EXPECT_EQ(core.All<RequestArrived>()[0].prompt, Tokens(100));
  EXPECT_EQ(core.All<FirstToken>().size(), 1u);
  ASSERT_EQ(core.All<RequestClosed>().size(), 1u);
  EXPECT_EQ(core.All<RequestClosed>()[0].output, Tokens(5));
  EXPECT_FALSE(core.All<EngineReport>().empty());
  ASSERT_EQ(outcome.records.size(), 1u);
  EXPECT_EQ(outcome.records[0].fate, Fate::kFinished);
  EXPECT_EQ(outcome.records[0].replica, "r1");
  // Two link delays of 0.5 ms, a prefill step of 20 ms, four decode steps of 10 ms.
  EXPECT_EQ(outcome.records[0].end, Duration::Seconds(1) + Duration::Milliseconds(61));
}

TEST(FleetSimulation, AnEngineTellsWhatItsPrefixCacheStoresAndRemoves) {
  SimulatedFleetSpec spec = FleetOf(2, 2048);
  for (SimulatedReplica& replica : spec.replicas) replica.limits.prefix_cache = true;
  spec.replicas[0].cache_events = true;
  SimulatedArrival first = ArrivalAt(1, 2 * kPrefixBlock.value() + 1),
                   second = ArrivalAt(5, 2 * kPrefixBlock.value() + 1);
  first.prefix = {1, 2};
  second.prefix = {1, 3};
  const SimulatedArrival large = ArrivalAt(9, 2000);
  ScriptedCore core(AllTo(0));
  FleetSimulation(spec, core, Quick()).Run({first, second, large});
  const std::vector<CacheReport> told = core.All<CacheReport>();
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[0], (CacheReport{ReplicaId(0), CacheNews::kChanged, {{1, 0}, {2, 1}}, {}}));
  EXPECT_EQ(told[1], (CacheReport{ReplicaId(0), CacheNews::kChanged, {{3, 1}}, {}}));
  EXPECT_EQ(told[2].stored, std::vector<PromptBlock>());
  EXPECT_EQ(told[2].removed.size(), 3u) << "the large prompt takes all of the pool";

  ScriptedCore silent(AllTo(1));
  FleetSimulation(spec, silent, Quick()).Run({first, second, large});
  EXPECT_TRUE(silent.All<CacheReport>().empty()) << "r1 publishes nothing";
}

TEST(FleetSimulation, ARefusedRequestHasItsReason) {
  ScriptedCore core([](const Event& event, std::vector<Action>& actions) {
    if (const auto* arrived = std::get_if<RequestArrived>(&event)) {
      Refuse refuse;
      refuse.request = arrived->request;
      refuse.reason = Refusal::kQueueFull;
      actions.push_back(refuse);
    }
  });
  const SimulationOutcome outcome = FleetSimulation(FleetOf(1), core, Quick()).Run({ArrivalAt(0)});
  EXPECT_EQ(outcome.records[0].fate, Fate::kRefused);
  EXPECT_EQ(outcome.records[0].reason, TraitsOf(Refusal::kQueueFull).label);
}

TEST(FleetSimulation, ARefusedClientComesBackOnceAfterItsRetryAfter) {
  ScriptedCore core([](const Event& event, std::vector<Action>& actions) {
    if (const auto* arrived = std::get_if<RequestArrived>(&event)) {
      Refuse refuse;
      refuse.request = arrived->request;
      refuse.reason = Refusal::kDeadlineUnreachable;
      refuse.retry_after = Duration::Seconds(3);
      refuse.early = true;
      actions.push_back(refuse);
    }
  });
  SimulationOptions options = Quick();
  options.retry = true;
  const SimulationOutcome outcome = FleetSimulation(FleetOf(1), core, options).Run({ArrivalAt(1, 70), ArrivalAt(2)});
  ASSERT_EQ(outcome.records.size(), 4u);
  EXPECT_EQ(outcome.records[2].arrival, Duration::Seconds(4));
  EXPECT_EQ(outcome.records[2].prompt, Tokens(70));
  EXPECT_EQ(outcome.records[2].fate, Fate::kRefused);
  EXPECT_TRUE(outcome.records[0].early);
}

TEST(FleetSimulation, ARequestOfADeadReplicaIsRequeuedWithItsTokensAndComputedAgain) {
  SimulatedFleetSpec spec = FleetOf(2);
  spec.replicas[0].down_from = Duration::Seconds(1.1);
  ScriptedCore core([](const Event& event, std::vector<Action>& actions) {
    if (const auto* arrived = std::get_if<RequestArrived>(&event)) actions.push_back(To(arrived->request, 0));
    if (const auto* back = std::get_if<RequestRequeued>(&event)) actions.push_back(To(back->request, 1));
  });
  const SimulationOutcome outcome = FleetSimulation(spec, core, Quick()).Run({ArrivalAt(1, 100, 20)});

  const std::vector<RequestRequeued> requeued = core.All<RequestRequeued>();
  ASSERT_EQ(requeued.size(), 1u);
  EXPECT_TRUE(requeued[0].avoid_replica);
  // The first token after 20.5 ms, then one per 10 ms, and the last 0.5 ms on the link.
  EXPECT_EQ(requeued[0].generated, Tokens(8));
  EXPECT_EQ(outcome.records[0].fate, Fate::kFinished);
  EXPECT_EQ(outcome.records[0].tokens.tokens(), 20) << "no token reaches the client twice";
  EXPECT_EQ(outcome.recomputed_tokens, 108);
  EXPECT_EQ(outcome.records[0].replica, "r1");
}

TEST(FleetSimulation, AClientThatVanishesEndsItsRequestAtTheEngine) {
  ScriptedCore core(AllTo(0));
  SimulatedArrival gone = ArrivalAt(0, 100, 1000);
  gone.vanishes = Duration::Milliseconds(100);
  const SimulationOutcome outcome = FleetSimulation(FleetOf(1), core, Quick()).Run({gone});
  EXPECT_EQ(outcome.records[0].reason, "client_gone");
  ASSERT_EQ(core.All<RequestClosed>().size(), 1u);
  EXPECT_EQ(core.All<RequestClosed>()[0].outcome, Outcome::kClientGone);
  EXPECT_EQ(outcome.records[0].end, Duration::Milliseconds(100));
}

TEST(FleetSimulation, AnAbortedRequestComesBackAfterOneLinkDelay) {
  bool aborted = false;
  ScriptedCore core([&aborted](const Event& event, std::vector<Action>& actions) {
    if (const auto* arrived = std::get_if<RequestArrived>(&event)) actions.push_back(To(arrived->request, 0));
    if (const auto* back = std::get_if<RequestRequeued>(&event)) actions.push_back(To(back->request, 0));
    if (const auto* first = std::get_if<FirstToken>(&event); first != nullptr && !aborted) {
      aborted = true;
      Abort abort;
      abort.request = first->request;
      actions.push_back(abort);
    }
  });
  const SimulationOutcome outcome = FleetSimulation(FleetOf(1), core, Quick()).Run({ArrivalAt(0, 100, 5)});
  EXPECT_EQ(outcome.aborts, 1);
  ASSERT_EQ(core.All<RequestRequeued>().size(), 1u);
  EXPECT_FALSE(core.All<RequestRequeued>()[0].avoid_replica);
  EXPECT_EQ(outcome.records[0].tokens.tokens(), 5);
}

TEST(FleetSimulation, ARequestThatNoEngineCanHoldFails) {
  ScriptedCore core(AllTo(0));
  const SimulationOutcome outcome = FleetSimulation(FleetOf(1, 64), core, Quick()).Run({ArrivalAt(0, 5000)});
  EXPECT_EQ(outcome.records[0].reason, "engine_rejected");
  ASSERT_EQ(core.All<RequestClosed>().size(), 1u);
  EXPECT_EQ(core.All<RequestClosed>()[0].outcome, Outcome::kRejected);
}

TEST(FleetSimulation, AnUnobservedAnswerCountsItsTokensAtItsEnd) {
  ScriptedCore core(AllTo(0));
  SimulatedArrival whole = ArrivalAt(0, 100, 5);
  whole.observed = false;
  const SimulationOutcome outcome = FleetSimulation(FleetOf(1), core, Quick()).Run({whole});
  EXPECT_TRUE(core.All<FirstToken>().empty());
  EXPECT_EQ(outcome.records[0].tokens.tokens(), 5);
  EXPECT_EQ(outcome.records[0].tokens.first(), outcome.records[0].end);
}

TEST(FleetSimulation, EqualSeedsTellEqualEvents) {
  std::vector<SimulatedArrival> arrivals;
  for (int i = 0; i < 50; ++i) arrivals.push_back(ArrivalAt(0.02 * i, 50 + 13 * i, 1 + i % 9));
  const auto times = [&arrivals](uint64_t seed) {
    SimulationOptions options;
    options.seed = seed;
    ScriptedCore core(AllTo(0));
    FleetSimulation simulation(FleetOf(2), core, options);
    std::vector<Instant> seen;
    simulation.Observe([&seen](const Event&, Instant now, const std::vector<Action>&) { seen.push_back(now); });
    simulation.Run(arrivals);
    return seen;
  };
  EXPECT_EQ(times(4), times(4));
  EXPECT_NE(times(4), times(5)) << "the phases of the reports are drawn";
}

}  // namespace
}  // namespace penstock::bench
