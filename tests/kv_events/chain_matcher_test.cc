#include "router/kv_events/chain_matcher.h"

#include <gtest/gtest.h>

#include <map>

namespace penstock {
namespace {

Instant Then(double seconds) { return Instant() + Duration::Seconds(100 + seconds); }

class ChainMatching : public ::testing::Test {
 protected:
  // Blocks of 16 tokens, named one after the other from `first_name` on.
  void Store(double at, uint64_t first_name, int64_t first_position, int64_t count,
             std::optional<uint64_t> parent = std::nullopt, std::optional<RequestId> owner = std::nullopt) {
    StoredRun stored;
    stored.parent = parent;
    stored.last = first_name + static_cast<uint64_t>(count) - 1;
    stored.first_position = first_position;
    stored.last_position = first_position + count - 1;
    stored.owner = owner;
    stored.block_size = 16;
    matcher_.OnStored(stored, Then(at));
  }
  EngineRun Dispatch(uint64_t id, double at) {
    EngineRun run;
    run.request = RequestId(id);
    run.dispatched = Then(at);
    matcher_.OnDispatched(run);
    return run;
  }
  void Close(EngineRun run, double at, int64_t prompt, int64_t output) {
    run.closed = Then(at);
    run.prompt = Tokens(prompt);
    run.output = Tokens(output);
    matcher_.OnClosed(run);
  }
  // The end of the request's search by then; nullopt: it goes on.
  std::optional<MatchEnd> EndOf(uint64_t id, double at) {
    for (const Match& match : matcher_.Judge(Then(at)))
      ends_[RequestId(id) == match.run.request ? id : match.run.request.value()] = match.end;
    const auto found = ends_.find(id);
    return found == ends_.end() ? std::nullopt : std::optional<MatchEnd>(found->second);
  }

  ChainMatcher matcher_;
  std::map<uint64_t, MatchEnd> ends_;
};

TEST_F(ChainMatching, TheEnginesNameDecides) {
  const EngineRun one = Dispatch(1, 0), two = Dispatch(2, 0);
  Store(0.1, 100, 0, 4, std::nullopt, RequestId(1));
  Store(0.1, 200, 0, 4, std::nullopt, RequestId(2));
  Close(one, 1, 64, 1);
  Close(two, 1, 64, 1);
  EXPECT_EQ(EndOf(1, 1.1), std::nullopt);  // Events may be late.
  EXPECT_EQ(EndOf(1, 1.5), MatchEnd::kNamed);
  EXPECT_EQ(EndOf(2, 1.5), MatchEnd::kNamed);
}

TEST_F(ChainMatching, ARequestAloneOwnsTheChainOfItsLength) {
  const EngineRun run = Dispatch(1, 0);
  Store(0.1, 100, 0, 4);
  Store(0.5, 104, 4, 1, 103);
  Close(run, 1, 70, 20);
  EXPECT_EQ(EndOf(1, 1.5), MatchEnd::kLength);
}

TEST_F(ChainMatching, AnotherLengthIsAnotherRequests) {
  const EngineRun run = Dispatch(1, 0);
  Store(0.1, 100, 0, 4);
  Close(run, 1, 100, 20);
  EXPECT_EQ(EndOf(1, 1.5), MatchEnd::kNone);
}

TEST_F(ChainMatching, TwoRequestsOfOneLengthOwnNothing) {
  const EngineRun one = Dispatch(1, 0), two = Dispatch(2, 0);
  Store(0.1, 100, 0, 5);
  Store(0.1, 200, 0, 5);
  Close(one, 1, 70, 20);
  Close(two, 1, 70, 20);
  EXPECT_EQ(EndOf(1, 1.5), MatchEnd::kAmbiguous);
  EXPECT_EQ(EndOf(2, 1.5), MatchEnd::kAmbiguous);
}

// One of them stored nothing: nobody knows which.
TEST_F(ChainMatching, OneChainAndTwoRequestsOfItsLengthAreAmbiguous) {
  const EngineRun one = Dispatch(1, 0), two = Dispatch(2, 0);
  Store(0.1, 100, 0, 5);
  Close(one, 1, 70, 20);
  Close(two, 1, 70, 20);
  EXPECT_EQ(EndOf(1, 1.5), MatchEnd::kAmbiguous);
  EXPECT_EQ(EndOf(2, 1.5), MatchEnd::kAmbiguous);
}

TEST_F(ChainMatching, RequestsOfDifferentLengthsAreToldApart) {
  const EngineRun one = Dispatch(1, 0), two = Dispatch(2, 0);
  Store(0.1, 100, 0, 5);
  Store(0.1, 200, 0, 9);
  Close(one, 1, 70, 20);
  Close(two, 1, 140, 10);
  EXPECT_EQ(EndOf(1, 1.5), MatchEnd::kLength);
  EXPECT_EQ(EndOf(2, 1.5), MatchEnd::kLength);
}

TEST_F(ChainMatching, ARequestThatStillRunsMayOwnTheChain) {
  const EngineRun one = Dispatch(1, 0), two = Dispatch(2, 0);
  Store(0.1, 100, 0, 5);
  Close(one, 1, 70, 20);
  EXPECT_EQ(EndOf(1, 5), std::nullopt);
  Close(two, 6, 200, 20);
  EXPECT_EQ(EndOf(1, 7), MatchEnd::kLength);
}

TEST_F(ChainMatching, PatienceEnds) {
  const EngineRun one = Dispatch(1, 0);
  Dispatch(2, 0);
  Store(0.1, 100, 0, 5);
  Close(one, 1, 70, 20);
  EXPECT_EQ(EndOf(1, 32), MatchEnd::kAmbiguous);
}

TEST_F(ChainMatching, ChainsOutsideOfARequestsTimeAreOthers) {
  Store(0, 100, 0, 5);
  const EngineRun run = Dispatch(1, 1);
  Close(run, 2, 70, 20);
  EXPECT_EQ(EndOf(1, 3), MatchEnd::kNone);
  EXPECT_EQ(EndOf(1, 100), MatchEnd::kNone);
  EXPECT_EQ(matcher_.unowned(), 1);
  EXPECT_EQ(matcher_.chains(), 0);
}

TEST_F(ChainMatching, TheNextTurnOfAConversationIsAChainOfItsOwn) {
  const EngineRun one = Dispatch(1, 0);
  Store(0.1, 100, 0, 5);
  Close(one, 1, 70, 20);
  EXPECT_EQ(EndOf(1, 1.5), MatchEnd::kLength);
  const EngineRun two = Dispatch(2, 2);
  Store(2.1, 105, 5, 5, 104);
  Close(two, 3, 150, 20);
  EXPECT_EQ(EndOf(2, 3.5), MatchEnd::kLength);
}

TEST_F(ChainMatching, ARequestThatWentElsewhereOwnsNothing) {
  const EngineRun run = Dispatch(1, 0);
  Store(0.1, 100, 0, 5, std::nullopt, RequestId(1));
  matcher_.OnGone(run.request);
  EXPECT_EQ(matcher_.chains(), 0);
}

TEST_F(ChainMatching, AFloodOfChainsIsBounded) {
  for (uint64_t i = 0; i < 3 * ChainMatcher::kMostChains; ++i) Store(0, 10 * i, 0, 1);
  EXPECT_EQ(matcher_.chains(), static_cast<int64_t>(ChainMatcher::kMostChains));
}

}  // namespace
}  // namespace penstock
