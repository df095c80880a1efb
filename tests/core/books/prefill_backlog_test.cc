#include "router/core/books/prefill_backlog.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

const Instant kBacklogStart = Instant::FromSeconds(100);

RequestState Prompt(int64_t tokens, Instant dispatched = kBacklogStart) {
  RequestState request;
  request.arrived.prompt = Tokens(tokens);
  request.running.prefill_left = Tokens(tokens);
  request.running.dispatched = dispatched;
  return request;
}

TEST(PrefillBacklog, StepsComputePromptsInTheOrderOfTheirDispatch) {
  PrefillBacklog backlog;
  RequestState first = Prompt(100), second = Prompt(100);
  backlog.Add(&first);
  backlog.Add(&second);
  EXPECT_EQ(backlog.Compute(1, kBacklogStart, kBacklogStart + Duration::Seconds(1), Tokens(150)).tokens, Tokens(150));
  EXPECT_EQ(first.running.prefill_left, Tokens(0));
  EXPECT_EQ(second.running.prefill_left, Tokens(50));
  EXPECT_EQ(backlog.work().tokens, Tokens(50));
  EXPECT_TRUE(backlog.SumHolds());
}

TEST(PrefillBacklog, AFirstTokenProvesEveryPromptAheadOfItDone) {
  PrefillBacklog backlog;
  RequestState first = Prompt(100), second = Prompt(80), third = Prompt(60);
  for (RequestState* request : {&first, &second, &third}) backlog.Add(request);
  backlog.Prove(&second);
  EXPECT_EQ(backlog.work().tokens, Tokens(60));
  EXPECT_EQ(first.running.prefill_left, Tokens(0));
  EXPECT_EQ(backlog.requests().size(), 2u);
}

TEST(PrefillBacklog, ProvenPrefillTakesItsPartOfTheStepsThatComeAfterTheToken) {
  PrefillBacklog backlog;
  RequestState first = Prompt(100), second = Prompt(100);
  backlog.Add(&first);
  backlog.Add(&second);
  backlog.Prove(&first);
  EXPECT_EQ(backlog.Compute(1, kBacklogStart, kBacklogStart + Duration::Seconds(1), Tokens(150)).tokens, Tokens(150));
  EXPECT_EQ(second.running.prefill_left, Tokens(50));
}

TEST(PrefillBacklog, AStepComputesNoPromptThatWasSentAfterItBegan) {
  PrefillBacklog backlog;
  RequestState late = Prompt(100, kBacklogStart + Duration::Milliseconds(500));
  backlog.Add(&late);
  EXPECT_EQ(backlog.Compute(1, kBacklogStart, kBacklogStart + Duration::Seconds(1), Tokens(150)).tokens, Tokens(0));
  const Instant next = kBacklogStart + Duration::Seconds(1);
  EXPECT_EQ(backlog.Compute(1, next, next + Duration::Seconds(1), Tokens(150)).tokens, Tokens(100));
}

TEST(PrefillBacklog, APromptThatLeavesTakesItsTokensAlong) {
  PrefillBacklog backlog;
  RequestState first = Prompt(100), second = Prompt(80);
  backlog.Add(&first);
  backlog.Add(&second);
  backlog.Remove(&first);
  EXPECT_EQ(backlog.work().tokens, Tokens(80));
  EXPECT_TRUE(backlog.SumHolds());
}

TEST(PrefillBacklog, AnIdleReplicaForgetsWhatFirstTokensProved) {
  PrefillBacklog backlog;
  RequestState first = Prompt(100), second = Prompt(100);
  backlog.Add(&first);
  backlog.Prove(&first);
  backlog.ForgetProven();
  backlog.Add(&second);
  EXPECT_EQ(backlog.Compute(1, kBacklogStart, kBacklogStart + Duration::Seconds(1), Tokens(150)).tokens, Tokens(100));
}

TEST(PrefillBacklog, StepsWithAPromptThatIsTakenToBeCachedAreDoubtful) {
  PrefillBacklog backlog;
  RequestState known = Prompt(100), guessed = Prompt(100);
  known.running.hope.live = Tokens(500);
  guessed.running.hope.left = Tokens(500);
  const auto step = [&](double at) {
    const Instant start = kBacklogStart + Duration::Seconds(at);
    backlog.Compute(1, start, start + Duration::Seconds(1), Tokens(10));
    return backlog.doubtful();
  };
  backlog.Add(&known);
  EXPECT_FALSE(step(0));
  backlog.Add(&guessed);
  EXPECT_TRUE(step(1));
  backlog.Remove(&known);
  backlog.Prove(&guessed);
  EXPECT_TRUE(step(2)) << "the step made its first token";
  EXPECT_FALSE(step(3));
  EXPECT_TRUE(backlog.SumHolds());
}

TEST(PrefillBacklog, StepsBehindTheOneThatWasToEndAPromptAreDoubtful) {
  PrefillBacklog backlog;
  RequestState late = Prompt(100);
  backlog.Add(&late);
  const auto step = [&](double at) {
    const Instant start = kBacklogStart + Duration::Seconds(at);
    backlog.Compute(1, start, start + Duration::Seconds(1), Tokens(100));
    return backlog.doubtful();
  };
  EXPECT_FALSE(step(0));
  EXPECT_TRUE(step(1)) << "no first token came";
  backlog.Remove(&late);
  EXPECT_FALSE(step(2));
}

TEST(PrefillBacklog, WorkIsThatOfThePositionsLeftInEachPrompt) {
  PrefillBacklog backlog;
  RequestState first = Prompt(100), second = Prompt(100);
  first.running.prefill_left = Tokens(40);
  backlog.Add(&first);
  backlog.Add(&second);
  const PrefillWork tail = PrefillOf(Tokens(60), Tokens(100));
  EXPECT_EQ(backlog.work(), tail + PrefillOf(Tokens(0), Tokens(100)));
  EXPECT_EQ(backlog.Next(Tokens(70)), tail + PrefillOf(Tokens(0), Tokens(30)));
  EXPECT_EQ(backlog.Next(Tokens(1000)), backlog.work());
  const Instant end = kBacklogStart + Duration::Seconds(1);
  EXPECT_EQ(backlog.Compute(1, kBacklogStart, end, Tokens(70)), tail + PrefillOf(Tokens(0), Tokens(30)));
  EXPECT_EQ(backlog.work(), PrefillOf(Tokens(30), Tokens(100)));
}

TEST(PrefillBacklog, TheWorkOfAllStepsIsThatOfThePromptsHoweverTheyAreCut) {
  for (const int64_t room : {1, 7, 64, 150, 5000}) {
    PrefillBacklog backlog;
    RequestState first = Prompt(1000), second = Prompt(333);
    backlog.Add(&first);
    backlog.Add(&second);
    PrefillWork computed;
    const PrefillWork all = backlog.work();
    for (int i = 0; i < 1400 && backlog.work() != PrefillWork(); ++i) {
      const Instant start = kBacklogStart + Duration::Seconds(i);
      computed += backlog.Compute(1, start, start + Duration::Seconds(1), Tokens(room));
      EXPECT_TRUE(backlog.SumHolds());
    }
    EXPECT_EQ(computed, all) << room;
  }
}

}  // namespace
}  // namespace penstock
