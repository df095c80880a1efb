#include "router/session/rules/resume_rules.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace penstock {
namespace {
using Kind = NextStep::Kind;

const Instant kNow = Instant::FromNanoseconds(5'000'000'000);

// One question to the rules: a chat stream whose client has three tokens of it, cut by an engine that died.
struct Question {
  Question() {
    end = EngineFailed(EngineErrorKind::kClosed, "The engine's stream broke off.");
    facts.stream = true;
    facts.prompt_is_text = true;
    facts.prompt_at = JsonSpan{10, 20};
    progress.any_answer = true;
    progress.delivered = 3;
    progress.text_whole = true;
    progress.another_serves = true;
    progress.another_continues = true;
    progress.deadline = kNow + Duration::Seconds(1);
  }
  NextStep Ask() const { return After(end, endpoint, facts, progress, kNow); }

  AttemptEnd end;
  Endpoint endpoint = Endpoint::kChat;
  RequestFacts facts;
  AnswerProgress progress;
};

struct Row {
  std::string name;
  std::function<void(Question&)> change;
  Kind kind;
  std::optional<ResumeResult> bar;
  std::optional<ResumeResult> resume;
};

void Expect(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    Question question;
    row.change(question);
    const NextStep step = question.Ask();
    EXPECT_EQ(step.kind, row.kind) << row.name;
    EXPECT_EQ(step.bar, row.bar) << row.name;
    EXPECT_EQ(step.resume, row.resume) << row.name;
  }
}

void Fail(Question& q, EngineErrorKind kind) { q.end = EngineFailed(kind, "failed"); }
void NothingYet(Question& q) { q.progress.any_answer = q.progress.text_whole = false, q.progress.delivered = 0; }

TEST(ResumeRules, TheKindOfTheEndDecidesFirst) {
  using End = AttemptEnd::Kind;
  Expect({
      {"finished", [](Question& q) { q.end = EndedBy(End::kFinished); }, Kind::kEnd, {}, {}},
      {"client gone", [](Question& q) { q.end = EndedBy(End::kClientGone); }, Kind::kStop, {}, {}},
      {"router ends", [](Question& q) { q.end = EndedBy(End::kCut); }, Kind::kShutDown, {}, {}},
      {"engine lacks the endpoint",
       [](Question& q) { q.end = EndpointMissing("a", "/v1/rerank"); },
       Kind::kFail,
       {},
       {}},
      {"engine lacks the endpoint, rest awaited",
       [](Question& q) { q.end = EndpointMissing("a", "/v1/rerank"), q.progress.resume_due = true; },
       Kind::kFail,
       {},
       ResumeResult::kEngine},
      {"died in a stream", [](Question&) {}, Kind::kContinue, {}, {}},
      {"died before a byte", NothingYet, Kind::kPlaceAgain, {}, {}},
      {"aborted in a stream", [](Question& q) { q.end = EndedBy(End::kAborted); }, Kind::kContinue, {}, {}},
      {"aborted before a byte",
       [](Question& q) { NothingYet(q), q.end = EndedBy(End::kAborted); },
       Kind::kPlaceAgain,
       {},
       {}},
  });
}

TEST(ResumeRules, AnEngineErrorIsWorthAnotherEngineByItsKind) {
  for (const EngineErrorKind kind : {EngineErrorKind::kConnect, EngineErrorKind::kClosed, EngineErrorKind::kPushedBack,
                                     EngineErrorKind::kOverflow, EngineErrorKind::kAsleep}) {
    Question question;
    Fail(question, kind);
    question.progress.another_serves = false;
    EXPECT_EQ(question.Ask().kind, Kind::kContinue) << LabelOf(kind);
  }
  for (const EngineErrorKind kind :
       {EngineErrorKind::kTimeout, EngineErrorKind::kGarbage, EngineErrorKind::kServer, EngineErrorKind::kHung}) {
    Question question;
    Fail(question, kind);
    EXPECT_EQ(question.Ask().kind, Kind::kContinue) << LabelOf(kind);
    question.progress.another_serves = false;
    EXPECT_EQ(question.Ask().kind, Kind::kFail) << LabelOf(kind);
    EXPECT_EQ(question.Ask().bar, std::nullopt);
    EXPECT_EQ(question.Ask().resume, ResumeResult::kEngine);
    NothingYet(question);
    EXPECT_EQ(question.Ask().resume, std::nullopt);
  }
  Question hopeless;
  hopeless.end.hopeless = true;
  EXPECT_EQ(hopeless.Ask().kind, Kind::kFail);
}

TEST(ResumeRules, ADeniedModelIsLookedForElsewhereButARejectedRequestIsNot) {
  const auto deny = [](Question& q) {
    NothingYet(q);
    q.end = EngineSaid(ParseEngineError(404, R"({"error":{"message":"The model `m` does not exist."}})"), false, false);
    q.end.writes = 1;
  };
  Question denied;
  deny(denied);
  EXPECT_EQ(denied.Ask().kind, Kind::kPlaceAgain);
  denied.facts.has_effects = true;
  EXPECT_EQ(denied.Ask().kind, Kind::kPlaceAgain) << "the engine did nothing";
  denied.progress.another_serves = false;
  EXPECT_EQ(denied.Ask().kind, Kind::kFail);
  Question begun;
  deny(begun);
  begun.progress.any_answer = true;
  EXPECT_EQ(begun.Ask().kind, Kind::kFail);
  Question bad;
  deny(bad);
  bad.end = EngineSaid(ParseEngineError(400, R"({"error":{"message":"bad temperature"}})"), false, false);
  EXPECT_EQ(bad.Ask().kind, Kind::kFail);
  AttemptLedger ledger;
  for (int i = 0; i < kMaxFailuresInARow; ++i) {
    EXPECT_FALSE(ledger.exhausted());
    ledger.OnEnd(denied.end, ReplicaId(static_cast<uint32_t>(i)), 0);
  }
  EXPECT_TRUE(ledger.exhausted());
}

TEST(ResumeRules, AWholeAnswerThatHasBegunIsNeverContinued) {
  for (const EngineErrorKind kind : {EngineErrorKind::kClosed, EngineErrorKind::kGarbage, EngineErrorKind::kServer}) {
    Question question;
    Fail(question, kind);
    question.facts.stream = false;
    question.progress.delivered = 0;
    EXPECT_EQ(question.Ask().kind, Kind::kFail) << LabelOf(kind);
    EXPECT_EQ(question.Ask().resume, ResumeResult::kWhole) << LabelOf(kind);
    question.progress.another_serves = false;
    EXPECT_EQ(question.Ask().resume, ResumeResult::kWhole) << LabelOf(kind);
    question.progress.any_answer = false;
    question.progress.another_serves = true;
    EXPECT_EQ(question.Ask().kind, Kind::kPlaceAgain) << LabelOf(kind);
  }
}

// The engine had the whole request.
AttemptEnd Lost(EngineErrorKind kind) {
  AttemptEnd end = EngineFailed(kind, "lost");
  end.writes = 1;
  return end;
}

TEST(ResumeRules, AnEngineThatDiedWithoutATokenDoesNotGetTheRequestAgain) {
  Question question;
  NothingYet(question);
  question.end = Lost(EngineErrorKind::kClosed);
  EXPECT_EQ(question.Ask().kind, Kind::kPlaceAgain);
  question.progress.another_serves = false;
  EXPECT_EQ(question.Ask().kind, Kind::kFail);
  question.end.writes = 0;
  EXPECT_EQ(question.Ask().kind, Kind::kPlaceAgain) << "it got nothing of the request";
}

TEST(ResumeRules, ARequestWithEffectsIsNeverWrittenTwice) {
  for (const EngineErrorKind kind : {EngineErrorKind::kClosed, EngineErrorKind::kTimeout, EngineErrorKind::kGarbage,
                                     EngineErrorKind::kServer, EngineErrorKind::kOverflow}) {
    Question question;
    NothingYet(question);
    question.facts.has_effects = true;
    question.end = Lost(kind);
    EXPECT_EQ(question.Ask().kind, Kind::kFail) << LabelOf(kind);
    EXPECT_EQ(question.Ask().bar, ResumeResult::kEffects);
  }
  Question full;
  NothingYet(full);
  full.facts.has_effects = true;
  full.end = Lost(EngineErrorKind::kPushedBack);
  EXPECT_EQ(full.Ask().kind, Kind::kPlaceAgain) << "a full engine did nothing";
  full.end = EngineFailed(EngineErrorKind::kConnect, "nothing was written");
  EXPECT_EQ(full.Ask().kind, Kind::kPlaceAgain);
}

TEST(ResumeRules, AClientIsToldNotToRepeatEffectsOrToCostFurtherEngines) {
  Question question;
  NothingYet(question);
  question.end = Lost(EngineErrorKind::kClosed);
  const auto must_not = [&] { return MustNotBeRetried(question.end, question.Ask(), question.facts); };
  question.progress.another_serves = false;
  EXPECT_FALSE(must_not()) << "the only engine died under it once";
  question.facts.has_effects = true;
  EXPECT_TRUE(must_not());
  question.facts.has_effects = false;
  question.progress.another_serves = true;
  question.progress.exhausted = true;
  EXPECT_TRUE(must_not()) << "two engines died under it";
  question.end = Lost(EngineErrorKind::kPushedBack);
  EXPECT_FALSE(must_not()) << "full engines did nothing";
}

TEST(ResumeRules, EveryBarHasItsReason) {
  const auto barred = [](std::string name, std::function<void(Question&)> change, ResumeResult bar) {
    return Row{std::move(name), std::move(change), Kind::kFail, bar, bar};
  };
  Expect({
      barred(
          "tries", [](Question& q) { q.progress.exhausted = true; }, ResumeResult::kTries),
      barred(
          "deadline", [](Question& q) { q.progress.deadline = kNow; }, ResumeResult::kDeadline),
      barred(
          "endpoint", [](Question& q) { q.endpoint = Endpoint::kResponses; }, ResumeResult::kEndpoint),
      barred(
          "choices", [](Question& q) { q.facts.n = 2; }, ResumeResult::kSeveral),
      barred(
          "prompts", [](Question& q) { q.endpoint = Endpoint::kCompletions, q.facts.prompts = 2; },
          ResumeResult::kSeveral),
      barred(
          "tools", [](Question& q) { q.facts.has_tools = true; }, ResumeResult::kTools),
      barred(
          "logprobs", [](Question& q) { q.facts.has_logprobs = true; }, ResumeResult::kLogprobs),
      barred(
          "structure", [](Question& q) { q.facts.has_structure = true; }, ResumeResult::kStructured),
      barred(
          "echo", [](Question& q) { q.facts.echo = true; }, ResumeResult::kEcho),
      barred(
          "seed", [](Question& q) { q.facts.seeded = true; }, ResumeResult::kSeed),
      barred(
          "prompt", [](Question& q) { q.facts.prompt_is_text = false; }, ResumeResult::kPrompt),
      barred(
          "other text", [](Question& q) { q.progress.other_text = true; }, ResumeResult::kOtherText),
      barred(
          "budget", [](Question& q) { q.progress.text_whole = false; }, ResumeResult::kBudget),
      barred(
          "engine", [](Question& q) { q.progress.another_continues = false; }, ResumeResult::kEngine),
      barred(
          "engine of messages",
          [](Question& q) { q.endpoint = Endpoint::kMessages, q.progress.another_continues = false; },
          ResumeResult::kEngine),
  });
}

TEST(ResumeRules, BarsOfAnAnswerDoNotHoldBeforeItsFirstByte) {
  Expect({
      {"tools", [](Question& q) { NothingYet(q), q.facts.has_tools = true; }, Kind::kPlaceAgain, {}, {}},
      {"choices", [](Question& q) { NothingYet(q), q.facts.n = 2; }, Kind::kPlaceAgain, {}, {}},
      {"tries", [](Question& q) { NothingYet(q), q.progress.exhausted = true; }, Kind::kFail, ResumeResult::kTries, {}},
      {"only the opening is out, tools",
       [](Question& q) { q.progress.delivered = 0, q.facts.has_tools = true; },
       Kind::kContinue,
       {},
       {}},
      {"messages are continued as chats are",
       [](Question& q) { q.endpoint = Endpoint::kMessages; },
       Kind::kContinue,
       {},
       {}},
  });
}

TEST(ResumeRules, AnAnswerAtItsLimitIsClosedByTheRouter) {
  Expect({
      {"at the limit", [](Question& q) { q.facts.max_output = Tokens(3); }, Kind::kCloseAnswer, {}, {}},
      {"below it", [](Question& q) { q.facts.max_output = Tokens(4); }, Kind::kContinue, {}, {}},
      {"at the limit and out of tries",
       [](Question& q) { q.facts.max_output = Tokens(3), q.progress.exhausted = true; },
       Kind::kCloseAnswer,
       {},
       {}},
      {"several choices", [](Question& q) { q.facts.max_output = Tokens(3), q.facts.n = 2; }, Kind::kFail,
       ResumeResult::kSeveral, ResumeResult::kSeveral},
  });
}

TEST(ResumeRules, TheClientReadsTheBar) {
  const AttemptEnd end = EngineFailed(EngineErrorKind::kClosed, "Cut.");
  EXPECT_EQ(ErrorOf(end, ResumeResult::kTools, /*any_answer=*/false).message, "Cut.");
  EXPECT_EQ(ErrorOf(end, ResumeResult::kOtherText, /*any_answer=*/true).message,
            "Cut. The answer cannot be continued elsewhere: it holds more than plain text, or half of a character.");
  const ApiError aborted = ErrorOf(EndedBy(AttemptEnd::Kind::kAborted), ResumeResult::kTries, /*any_answer=*/false);
  EXPECT_EQ(aborted.message, "The answer was cut for want of memory.");
  EXPECT_EQ(aborted.reason, LabelOf(EngineErrorKind::kOverflow));
}

}  // namespace
}  // namespace penstock
