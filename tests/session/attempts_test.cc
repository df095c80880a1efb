// The count of a request's attempts, the sorting of their ends, and the time of the first comment: pure rules.
#include <gtest/gtest.h>

#include "router/session/delivery.h"
#include "router/session/rules/resume_rules.h"

namespace penstock {
namespace {

constexpr ReplicaId kA(0), kB(1);

// The engine had the whole request.
AttemptEnd LostAttempt(EngineErrorKind kind) {
  AttemptEnd end = EngineFailed(kind, "lost");
  end.writes = 1;
  return end;
}

TEST(AttemptLedger, FailuresCountInAllAndInARow) {
  const AttemptEnd failed = EngineFailed(EngineErrorKind::kClosed, "");
  AttemptLedger in_a_row;
  for (int i = 1; i < kMaxFailuresInARow; ++i) in_a_row.OnEnd(failed, kA, 0);
  EXPECT_FALSE(in_a_row.exhausted());
  in_a_row.OnEnd(failed, kA, 0);
  EXPECT_TRUE(in_a_row.exhausted());
  AttemptLedger in_all;
  for (int i = 1; i < kMaxFailures; ++i) in_all.OnEnd(failed, kA, i);
  EXPECT_FALSE(in_all.exhausted());
  in_all.OnEnd(failed, kA, kMaxFailures);
  EXPECT_TRUE(in_all.exhausted());
}

TEST(AttemptLedger, AnEngineThatIsOutOfReachAgainGetsTime) {
  const AttemptEnd unreached = EngineFailed(EngineErrorKind::kConnect, "");
  AttemptLedger ledger;
  for (const ReplicaId replica : {kA, kB}) {
    ledger.OnEnd(unreached, replica, 0);
    EXPECT_EQ(ledger.pause(), Duration());
  }
  for (int i = 3; i <= kMaxUnreached; ++i) {
    EXPECT_FALSE(ledger.exhausted());
    ledger.OnEnd(unreached, i % 2 == 0 ? kA : kB, 0);
    EXPECT_EQ(ledger.pause(), kFirstPause * (int64_t{1} << (i - 2)));
  }
  EXPECT_TRUE(ledger.exhausted());
}

TEST(AttemptLedger, TokensEndARowOfEnginesOutOfReach) {
  const AttemptEnd unreached = EngineFailed(EngineErrorKind::kConnect, "");
  AttemptLedger ledger;
  for (int i = 1; i < kMaxUnreached; ++i) ledger.OnEnd(unreached, kA, 0);
  ledger.OnEnd(LostAttempt(EngineErrorKind::kClosed), kA, 5);
  EXPECT_EQ(ledger.pause(), Duration());
  for (int i = 1; i < kMaxUnreached; ++i) {
    ledger.OnEnd(unreached, kA, 5);
    EXPECT_FALSE(ledger.exhausted());
  }
}

TEST(AttemptLedger, ARequestIsLostAtTwoEnginesAtMost) {
  for (const EngineErrorKind kind :
       {EngineErrorKind::kClosed, EngineErrorKind::kTimeout, EngineErrorKind::kGarbage, EngineErrorKind::kServer}) {
    AttemptLedger ledger;
    ledger.OnEnd(LostAttempt(kind), kA, 0);
    EXPECT_FALSE(ledger.exhausted()) << LabelOf(kind);
    EXPECT_TRUE(ledger.LostAt(kA));
    EXPECT_FALSE(ledger.LostAt(kB));
    ledger.OnEnd(LostAttempt(kind), kB, 0);
    EXPECT_TRUE(ledger.exhausted()) << LabelOf(kind);
  }
}

TEST(AttemptLedger, AFreshConnectionInPlaceOfAStaleOneIsTheOneMoreTry) {
  AttemptLedger ledger;
  AttemptEnd twice = LostAttempt(EngineErrorKind::kClosed);
  twice.writes = 2;
  ledger.OnEnd(twice, kA, 0);
  EXPECT_TRUE(ledger.exhausted());
}

TEST(AttemptLedger, APartOfARequestCountsAsAllOfIt) {
  AttemptLedger ledger;
  AttemptEnd part = EngineFailed(EngineErrorKind::kClosed, "");
  part.partial_writes = 1;
  EXPECT_TRUE(IsLoss(part));
  ledger.OnEnd(part, kA, 0);
  EXPECT_TRUE(ledger.LostAt(kA));
  EXPECT_FALSE(ledger.exhausted());
  ledger.OnEnd(part, kB, 0);
  EXPECT_TRUE(ledger.exhausted());
  AttemptLedger stale;
  part.partial_writes = 2;
  stale.OnEnd(part, kA, 0);
  EXPECT_TRUE(stale.exhausted());
}

TEST(AttemptLedger, AnAnswerThatWentOnMayBeLostThreeTimes) {
  AttemptLedger ledger;
  ledger.OnEnd(LostAttempt(EngineErrorKind::kClosed), kA, 5);
  EXPECT_FALSE(ledger.LostAt(kA)) << "it gave tokens";
  ledger.OnEnd(LostAttempt(EngineErrorKind::kClosed), kB, 9);
  EXPECT_FALSE(ledger.exhausted());
  ledger.OnEnd(LostAttempt(EngineErrorKind::kClosed), kA, 12);
  EXPECT_TRUE(ledger.exhausted());
}

TEST(AttemptLedger, FullEnginesAreNotLost) {
  AttemptLedger ledger;
  ledger.OnEnd(LostAttempt(EngineErrorKind::kPushedBack), kA, 0);
  ledger.OnEnd(LostAttempt(EngineErrorKind::kOverflow), kB, 0);
  EXPECT_FALSE(ledger.exhausted());
  EXPECT_FALSE(ledger.LostAt(kB));
}

TEST(AttemptLedger, UnreachedEnginesCountApart) {
  AttemptLedger ledger;
  const AttemptEnd unreached = EngineFailed(EngineErrorKind::kConnect, "");
  for (int i = 1; i < kMaxUnreached; ++i) ledger.OnEnd(unreached, kA, 0);
  EXPECT_FALSE(ledger.exhausted());
  ledger.OnEnd(EndedBy(AttemptEnd::Kind::kAborted), kA, 0);
  EXPECT_FALSE(ledger.exhausted());
  ledger.OnEnd(unreached, kA, 0);
  EXPECT_TRUE(ledger.exhausted());
}

TEST(AttemptEnd, AnEnginesOwnErrorIsSorted) {
  EngineError error;
  error.status = 400;
  error.message = "bad temperature";
  EXPECT_EQ(EngineSaid(error, /*in_stream=*/false, /*resume_due=*/false).kind, AttemptEnd::Kind::kRejected);
  EXPECT_FALSE(EngineSaid(error, false, false).engine_at_fault);
  EXPECT_EQ(EngineSaid(error, false, false).error->reason, "rejected");
  EXPECT_TRUE(EngineSaid(error, /*in_stream=*/true, false).engine_at_fault);
  const AttemptEnd due = EngineSaid(error, false, /*resume_due=*/true);
  EXPECT_EQ(due.kind, AttemptEnd::Kind::kFailed);
  EXPECT_TRUE(due.hopeless);
  error.status = 503;
  EXPECT_EQ(EngineSaid(error, false, false).engine_error, EngineErrorKind::kPushedBack);
  error.status = 500;
  EXPECT_FALSE(EngineSaid(error, false, false).hopeless);
  error.status = 501;
  EXPECT_TRUE(EngineSaid(error, false, false).hopeless);
  error.message = "Context size has been exceeded.";
  EXPECT_EQ(EngineSaid(error, false, false).engine_error, EngineErrorKind::kOverflow);
  // An engine repeats the words of its client.
  error.message = "unknown tool_choice: Context size has been exceeded.";
  EXPECT_NE(EngineSaid(error, false, false).engine_error, EngineErrorKind::kOverflow);
  error.status = 400;
  error.message = "Context size has been exceeded.";
  EXPECT_EQ(EngineSaid(error, false, false).kind, AttemptEnd::Kind::kRejected);
}

TEST(AttemptEnd, AnAnswerThatIsTooLongForTheRouterIsNotItsEnginesFault) {
  const AttemptEnd end = AnswerTooLong("longer");
  EXPECT_TRUE(end.hopeless);
  EXPECT_EQ(BlameOf(end), Blame::kNone);
}

TEST(AttemptEnd, AFullEnginesPageStaysInTheLog) {
  const AttemptEnd end = EngineSaid(ParseEngineError(503, "<html>10.0.0.7 is busy</html>"), false, false);
  EXPECT_EQ(end.engine_error, EngineErrorKind::kPushedBack);
  EXPECT_EQ(end.error->message.find("10.0.0.7"), std::string::npos);
  EXPECT_EQ(end.error->detail, "<html>10.0.0.7 is busy</html>");
}

TEST(AttemptEnd, AMissingPathIsNamedAndMayBeTriedAtAnother) {
  EXPECT_EQ(EndpointMissing("chat", "/v1/rerank").error->message, "No engine of `chat` serves /v1/rerank.");
  EXPECT_FALSE(EndpointMissing("chat", "/v1/rerank").denied);
  EXPECT_TRUE(EndpointMissing("chat", "/v1/rerank", /*another=*/true).denied);
  for (const char* body : {R"({"detail":"Not Found"})", R"({"error":{"code":404,"message":"File Not Found"}})", ""}) {
    EXPECT_TRUE(LacksPath(ParseEngineError(404, body))) << body;
  }
  for (const char* body :
       {R"({"error":{"message":"The model `x` does not exist."}})", R"({"detail":"no response r1"})"}) {
    EXPECT_FALSE(LacksPath(ParseEngineError(404, body))) << body;
  }
  EXPECT_FALSE(LacksPath(ParseEngineError(400, "")));
}

TEST(AttemptEnd, ARedirectIsNobodysFaultAndIsNotTriedAgain) {
  AttemptEnd end = EngineRedirects(307, "http://10.0.0.7/x");
  end.writes = 1;
  EXPECT_EQ(BlameOf(end), Blame::kNone);
  EXPECT_FALSE(end.engine_at_fault);
  EXPECT_EQ(end.error->status, 502);
  EXPECT_TRUE(end.error->never_retry);
  EXPECT_NE(end.error->message.find("redirects the request with status 307"), std::string::npos);
  EXPECT_EQ(end.error->message.find("10.0.0.7"), std::string::npos);
  AnswerProgress progress;
  progress.another_serves = true;
  EXPECT_EQ(After(end, Endpoint::kFreeRoute, RequestFacts(), progress, Instant()).kind, NextStep::Kind::kFail);
  AttemptLedger ledger;
  for (int i = 0; i < kMaxFailures; ++i) ledger.OnEnd(end, kA, 0);
  EXPECT_FALSE(ledger.exhausted());
}

TEST(AttemptEnd, AnEngineDeniesAModelInItsOwnWords) {
  for (const auto& [status, body] : std::vector<std::pair<int, const char*>>{
           {404, R"({"error":{"message":"The model `x` does not exist.","type":"NotFoundError"}})"},
           {404, R"({"error":{"message":"model 'x' not found","type":"api_error"}})"},
           {400, R"({"error":{"code":400,"message":"model not found","type":"invalid_request_error"}})"},
           {422, R"({"error":{"message":"no","code":"model_not_found"}})"}}) {
    EXPECT_TRUE(DeniesModel(ParseEngineError(status, body))) << body;
  }
  for (const auto& [status, body] :
       std::vector<std::pair<int, const char*>>{{404, R"({"detail":"Not Found"})"},
                                                {404, R"({"detail":"no response r1"})"},
                                                {400, R"({"error":{"message":"the model takes no images"}})"},
                                                {400, R"({"error":{"message":"bad input: 'model not found'"}})"},
                                                {500, R"({"error":{"message":"model not found"}})"}}) {
    EXPECT_FALSE(DeniesModel(ParseEngineError(status, body))) << body;
  }
}

TEST(EngineErrors, AModelThatIsNotInMemoryIsAsleep) {
  const char* body = R"({"error":{"code":400,"message":"model is not loaded","type":"invalid_request_error"}})";
  EXPECT_TRUE(SaysAsleep(ParseEngineError(400, body)));
  EXPECT_FALSE(SaysAsleep(ParseEngineError(500, R"({"error":{"code":500,"message":"model is not loaded"}})")));
  EXPECT_FALSE(SaysAsleep(ParseEngineError(400, R"({"error":{"message":"model is already loaded"}})")));
}

TEST(Delivery, ADeadlineIsOverBeforeTheFirstCommentUnlessTheConfigurationSaysOtherwise) {
  ClassConfig strict;
  strict.ttft = Duration::Seconds(20);
  strict.queue = Duration::Seconds(60);
  strict.refuse_late = true;
  LimitsConfig limits;
  EXPECT_EQ(FirstComment(limits, strict), Duration::Seconds(20));
  strict.ttft = Duration::Seconds(1);
  EXPECT_EQ(FirstComment(limits, strict), Duration::Seconds(10));
  ClassConfig measured = strict;
  measured.ttft = Duration::Seconds(3600);
  measured.refuse_late = false;
  EXPECT_EQ(FirstComment(limits, measured), Duration::Seconds(10));
  limits.keepalive_after = Duration::Seconds(2);
  EXPECT_EQ(FirstComment(limits, strict), Duration::Seconds(2));
}

}  // namespace
}  // namespace penstock
