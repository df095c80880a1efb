// The prompts in a replica's cache, as its state expects them.
#include <gtest/gtest.h>

#include <vector>

#include "router/core/books/replica_state.h"

namespace penstock {
namespace {

class CachedPromptTest : public ::testing::Test {
 protected:
  CachedPromptTest() {
    ReplicaSpec spec;
    spec.name = "r0";
    spec.prior = {10, 0.1, 0, 0.05, 1};
    spec.prefix_cache = Tokens(100'000);
    replica_.Configure(spec, {ClassSpec()});
    replica_.health = Health::kUp;
    replica_.prompts.SetRoom(100);
  }
  RequestState Prompt(uint64_t id, int64_t tokens, const std::vector<uint64_t>& prefix) {
    RequestState request;
    request.arrived.request = RequestId(id);
    request.arrived.prompt = Tokens(tokens);
    request.arrived.prefix = prefix;
    return request;
  }

  Tokens Prefill(const RequestState& request) const { return request.Prompt() - replica_.HopeFor(request).expected; }

  ReplicaState replica_;
  std::vector<RequestId> others_;
};

TEST_F(CachedPromptTest, TheBlocksOfARunningRequestAreCachedForCertain) {
  RequestState first = Prompt(1, 1600, {1, 2, 3});
  const RequestState second = Prompt(2, 1600, {1, 2, 9});
  EXPECT_EQ(Prefill(second), Tokens(1600));
  replica_.Join(&first, Instant(), others_);
  replica_.prompts.reliability().Observe(Tokens(1'000'000), Tokens(0));
  EXPECT_EQ(Prefill(second), Tokens(1600 - 1024));
  EXPECT_EQ(replica_.SharedOf(second), Tokens(1024));
}

TEST_F(CachedPromptTest, BlocksThatARequestLeftAreCachedAsFarAsTheReplicaIsReliable) {
  RequestState first = Prompt(1, 1600, {1, 2, 3});
  const RequestState second = Prompt(2, 1600, {1, 2, 9});
  replica_.Join(&first, Instant(), others_);
  replica_.BecomeDecoding(&first);
  replica_.Leave(&first, others_);
  EXPECT_EQ(Prefill(second), Tokens(1600 - 1024));
  EXPECT_EQ(replica_.SharedOf(second), Tokens(0));
  for (int i = 0; i < 100; ++i) replica_.prompts.reliability().Observe(Tokens(100'000), Tokens(50'000));
  EXPECT_NEAR(Prefill(second).AsDouble(), 1600 - 512, 5);
}

TEST_F(CachedPromptTest, APromptThatWasNeverComputedLeavesNothing) {
  RequestState first = Prompt(1, 1600, {1, 2, 3});
  replica_.Join(&first, Instant(), others_);
  replica_.Leave(&first, others_);
  EXPECT_EQ(replica_.HopeFor(first).blocks, 0);
}

TEST_F(CachedPromptTest, AReplicaThatIsDownHasNothing) {
  RequestState first = Prompt(1, 1600, {1, 2, 3});
  replica_.Join(&first, Instant(), others_);
  replica_.health = Health::kDown;
  EXPECT_EQ(replica_.HopeFor(first).expected, Tokens(0));
}

TEST_F(CachedPromptTest, BlocksAreNeverLongerThanThePrompt) {
  RequestState first = Prompt(1, 1200, {1, 2, 3});
  replica_.Join(&first, Instant(), others_);
  EXPECT_EQ(replica_.HopeFor(first).expected, Tokens(1200));
  EXPECT_EQ(Prefill(first), Tokens(0));
}

TEST_F(CachedPromptTest, ARequestFromBeforeTheCacheWasKnownSharesNothing) {
  ReplicaSpec spec = replica_.spec();
  spec.prefix_cache = Tokens(0);
  replica_.Configure(spec, {ClassSpec()});
  RequestState first = Prompt(1, 1600, {1, 2, 3});
  replica_.Join(&first, Instant(), others_);
  spec.prefix_cache = Tokens(100'000);
  replica_.Configure(spec, {ClassSpec()});
  RequestState second = Prompt(2, 1600, {1, 2, 9});
  replica_.Join(&second, Instant(), others_);
  EXPECT_EQ(replica_.SharedOf(first), Tokens(0)) << "nobody would tell it when the second one leaves";
  EXPECT_EQ(replica_.SharedOf(second), Tokens(0));
}

class HostedPromptTest : public CachedPromptTest {
 protected:
  HostedPromptTest() {
    ReplicaSpec spec = replica_.spec();
    spec.host_cache = {Tokens(100'000), 1e-5};
    replica_.Configure(spec, {ClassSpec()});
    replica_.prompts.SetHostRoom(100);
  }
  // The prompt was computed, and the GPU has lost it.
  void Compute(RequestState request) {
    replica_.Join(&request, Instant(), others_);
    replica_.BecomeDecoding(&request);
    replica_.Leave(&request, others_);
    replica_.prompts.SetRoom(0);
  }
};

TEST_F(HostedPromptTest, LoadingCostsItsTimeAndNoPrefill) {
  Compute(Prompt(1, 1600, {1, 2, 3}));
  RequestState second = Prompt(2, 1600, {1, 2, 9});
  const CacheHope hope = replica_.HopeFor(second);
  EXPECT_EQ(hope.host, Tokens(1024));
  EXPECT_EQ(hope.expected, Tokens(1024));
  EXPECT_EQ(hope.blocks, 0) << "the GPU has none of it";
  EXPECT_NEAR(hope.load.seconds(), 1024e-5, 1e-9);
  replica_.Join(&second, Instant(), others_);
  PrefillWork work = PrefillOf(Tokens(1024), Tokens(1600));
  work.load = hope.load;
  EXPECT_EQ(replica_.prefills().work(), work);
  EXPECT_TRUE(replica_.SumsHold());
  replica_.BecomeDecoding(&second);
  EXPECT_EQ(replica_.prefills().work(), PrefillWork());
}

TEST_F(HostedPromptTest, AHostThatLosesPromptsIsTrustedLess) {
  Compute(Prompt(1, 1600, {1, 2, 3}));
  for (int i = 0; i < 100; ++i) replica_.prompts.host_reliability().Observe(Tokens(100'000), Tokens(50'000));
  const CacheHope hope = replica_.HopeFor(Prompt(2, 1600, {1, 2, 9}));
  EXPECT_NEAR(hope.expected.AsDouble(), 512, 5);
  EXPECT_NEAR(hope.load.seconds(), 512e-5, 5e-5);
}

}  // namespace
}  // namespace penstock
