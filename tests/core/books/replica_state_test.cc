#include "router/core/books/replica_state.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

constexpr int kPrompts = 200;

// One stream decodes; every second step a whole prompt is computed beside it, and its first token comes before or
// after the step itself. Steps last exactly as the prior says.
double FactorLearned(bool token_first) {
  ReplicaSpec spec;
  spec.name = "r0";
  spec.prior = {10, 0.1, 0, 0.05};
  spec.prior_known = true;
  spec.batch_budget = Tokens(2048);
  spec.max_sequences = 256;
  ReplicaState replica;
  replica.Configure(spec, {ClassSpec()});
  Instant now = Instant() + Duration::Seconds(1);
  RequestState stream;
  stream.arrived.prompt = Tokens(10);
  replica.Join(&stream, now);
  replica.BecomeDecoding(&stream);
  replica.Advance(1, now, 0);
  for (int i = 0; i < kPrompts; ++i) {
    RequestState request;
    request.arrived.request = RequestId(static_cast<uint64_t>(i) + 1);
    request.arrived.prompt = Tokens(1000);
    replica.Join(&request, now);
    now = now + Duration::Seconds(0.0601);
    if (token_first) replica.BecomeDecoding(&request);
    if (token_first) replica.Leave(&request);
    replica.Advance(1, now, 0);
    if (!token_first) replica.BecomeDecoding(&request);
    if (!token_first) replica.Leave(&request);
    now = now + Duration::Seconds(0.0101);
    replica.Advance(1, now, 0);
  }
  EXPECT_NEAR(replica.prefills().tokens().AsDouble(), 0, 1);
  replica.Leave(&stream);
  return replica.steps_model().Factor(0);
}

TEST(ReplicaState, PrefillIsLearnedAsPrefillWhetherItsFirstTokenOrItsStepIsToldFirst) {
  EXPECT_NEAR(FactorLearned(false), 1, 0.02);
  EXPECT_NEAR(FactorLearned(true), 1, 0.02);
}

}  // namespace
}  // namespace penstock
