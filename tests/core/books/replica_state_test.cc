#include "router/core/books/replica_state.h"

#include <gtest/gtest.h>

#include "tests/core/rooms_for_test.h"

namespace penstock {
namespace {

constexpr int kPrompts = 200;

// One stream decodes; every second step a whole prompt is computed beside it, and its first token comes before or
// after the step itself. Steps last exactly as the prior says.
double FactorLearned(bool token_first) {
  ReplicaSpec spec;
  spec.name = "r0";
  spec.prior = {10, 0.1, 0, 0.05, 0};
  spec.prior_known = true;
  spec.batch_budget = Tokens(2048);
  spec.max_sequences = 256;
  ReplicaState replica;
  std::vector<RequestId> others;
  replica.Configure(spec, {ClassSpec()});
  Instant now = Instant() + Duration::Seconds(1);
  RequestState stream;
  stream.arrived.prompt = Tokens(10);
  replica.Join(&stream, now, others);
  replica.BecomeDecoding(&stream);
  replica.Advance(1, now, 0);
  for (int i = 0; i < kPrompts; ++i) {
    RequestState request;
    request.arrived.request = RequestId(static_cast<uint64_t>(i) + 1);
    request.arrived.prompt = Tokens(1000);
    replica.Join(&request, now, others);
    now = now + Duration::Seconds(0.0601);
    if (token_first) replica.BecomeDecoding(&request);
    if (token_first) replica.Leave(&request, others);
    replica.Advance(1, now, 0);
    if (!token_first) replica.BecomeDecoding(&request);
    if (!token_first) replica.Leave(&request, others);
    now = now + Duration::Seconds(0.0101);
    replica.Advance(1, now, 0);
  }
  EXPECT_NEAR(replica.prefills().work().tokens.AsDouble(), 0, 1);
  replica.Leave(&stream, others);
  return replica.steps_model().Factor(0);
}

TEST(ReplicaState, PrefillIsLearnedAsPrefillWhetherItsFirstTokenOrItsStepIsToldFirst) {
  EXPECT_NEAR(FactorLearned(false), 1, 0.02);
  EXPECT_NEAR(FactorLearned(true), 1, 0.02);
}

TEST(ReplicaState, StepsOfStreamsThatWaitForTheirClientsTeachNothing) {
  Fleet fleet = testing::MakeFleet({});
  fleet.replicas[0].learns_steps = true;
  testing::TestRooms test(fleet);
  RequestState* request = test.Decoding(1, 300);
  const auto advance = [&](int64_t steps, bool delayed) {
    test.rooms.running.Advance(Progress{{{ReplicaId(0), steps, test.now, delayed}}, {}}, test.now);
  };
  advance(1, false);
  const double before = test.Replica().steps_model().Factor(0);
  const int64_t generated = test.Replica().streams().Generated(*request);
  for (const int64_t steps : {0, 1, 0, 3}) {
    test.Wait(Duration::Seconds(3));
    advance(steps, true);
    EXPECT_FALSE(test.Replica().steps.last_end) << "else its silence looks like a stall";
  }
  test.Wait(Duration::Seconds(3));
  advance(1, false);
  EXPECT_EQ(test.Replica().steps_model().Factor(0), before);
  EXPECT_EQ(test.Replica().streams().Generated(*request), generated + 5);
}

TEST(ReplicaState, ABusyNeighbourCostsAStepUnderTimeSlicingAndLessUnderMps) {
  ReplicaSpec spec;
  spec.name = "r0";
  ReplicaState replica;
  replica.Configure(spec, {ClassSpec()});
  EXPECT_DOUBLE_EQ(replica.steps_model().Factor(0), 1);
  EXPECT_DOUBLE_EQ(replica.steps_model().Factor(2), 3);
  spec.time_sliced = false;
  replica.Configure(spec, {ClassSpec()});
  EXPECT_DOUBLE_EQ(replica.steps_model().Factor(2), 2) << "a reload that changes the sharing begins anew";
}

// One request at a time with 40 ms outside of the steps; `disturb` changes it before its first token.
template <class Disturb>
double HostTimeLearned(Disturb disturb, bool learns_steps = false) {
  ReplicaSpec spec;
  spec.name = "r0";
  spec.prior = {10, 0, 0, 0.05, 0};
  spec.learns_steps = learns_steps;
  ReplicaState replica;
  replica.Configure(spec, {ClassSpec()});
  std::vector<RequestId> others;
  Instant now = Instant::FromSeconds(1);
  for (uint64_t i = 0; i < HostTime::kWindow; ++i) {
    RequestState request;
    request.arrived.request = RequestId(i);
    request.arrived.prompt = Tokens(200);
    replica.Join(&request, now, others);
    RequestState second;
    second.arrived.request = RequestId(1000 + i);
    const int busy_neighbours = disturb(request, second, replica, now);
    now = now + Duration::Milliseconds(2 + 40 + 20);
    replica.LearnHostTime(request, 0.002, now, busy_neighbours);
    const std::vector<RequestState*> running = replica.requests();
    for (RequestState* each : running) replica.Leave(each, others);
  }
  return replica.host_time.seconds();
}

TEST(ReplicaState, ALoneRequestTeachesTheTimeOutsideOfTheSteps) {
  const auto nothing = [](RequestState&, RequestState&, ReplicaState&, Instant) { return 0; };
  EXPECT_NEAR(HostTimeLearned(nothing), 0.04, 1e-6);
  EXPECT_EQ(HostTimeLearned(nothing, /*learns_steps=*/true), 0) << "no step was seen: its pace may be any";
}

TEST(ReplicaState, ARequestThatWasNotAloneTeachesNoTimeOutsideOfTheSteps) {
  std::vector<RequestId> others;
  EXPECT_EQ(HostTimeLearned([&](RequestState&, RequestState& second, ReplicaState& replica, Instant now) {
              replica.Join(&second, now, others);
              return 0;
            }),
            0);
  EXPECT_EQ(HostTimeLearned([](RequestState&, RequestState&, ReplicaState&, Instant) { return 1; }), 0);
  EXPECT_EQ(HostTimeLearned([](RequestState& request, RequestState&, ReplicaState&, Instant) {
              request.running.hope.blocks = 1;
              return 0;
            }),
            0);
  EXPECT_EQ(HostTimeLearned([](RequestState& request, RequestState&, ReplicaState&, Instant) {
              request.arrived.observed = false;
              return 0;
            }),
            0);
}

// Prompts of 16,384 tokens in chunks of 2,048 beside one stream, in steps that last as `truth` says.
double FactorLearnedOfLongPrompts(const StepCoefficients& prior, const StepCoefficients& truth) {
  ReplicaSpec spec;
  spec.name = "r0";
  spec.prior = prior;
  spec.batch_budget = Tokens(2049);
  ReplicaState replica;
  std::vector<RequestId> others;
  replica.Configure(spec, {ClassSpec()});
  Instant now = Instant::FromSeconds(1);
  RequestState stream;
  stream.arrived.prompt = Tokens(10);
  replica.Join(&stream, now, others);
  replica.BecomeDecoding(&stream);
  replica.Advance(1, now, 0);
  for (uint64_t i = 1; i <= 30; ++i) {
    RequestState request;
    request.arrived.request = RequestId(i);
    request.arrived.prompt = Tokens(16'384);
    replica.Join(&request, now, others);
    for (int64_t at = 0; at < 16'384; at += 2048) {
      const double kv = static_cast<double>(replica.streams().kv_tokens());
      const PrefillWork chunk = PrefillOf(Tokens(at), Tokens(at + 2048));
      now = now + Duration::Seconds(truth.StepMs(1, kv, chunk) * 1e-3);
      replica.Advance(1, now, 0);
    }
    replica.BecomeDecoding(&request);
    replica.Leave(&request, others);
  }
  replica.Leave(&stream, others);
  return replica.steps_model().Factor(0);
}

TEST(ReplicaState, ThePairsOfALongPromptAreExpectedAndTeachNoSlowness) {
  const StepCoefficients quadratic{10, 0.1, 0, 0.05, 2};
  EXPECT_NEAR(FactorLearnedOfLongPrompts(quadratic, quadratic), 1, 0.01);
  EXPECT_NEAR(FactorLearnedOfLongPrompts(quadratic, quadratic.Scaled(1.5)), 1.5, 0.02);
  StepCoefficients linear = quadratic;
  linear.e = 0;
  EXPECT_GT(FactorLearnedOfLongPrompts(linear, quadratic), 1.3) << "a linear core takes long prompts for a slow engine";
}

}  // namespace
}  // namespace penstock
