#include "router/tracing/request_trace.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "router/tracing/otlp_json.h"

namespace penstock {
namespace {

using nlohmann::json;

Instant At(double seconds) { return Instant::FromSeconds(seconds); }

TraceContext Context(bool sampled = true) {
  TraceContext context;
  context.trace = {1, 2};
  context.span = {3};
  context.flags = sampled ? TraceContext::kSampled : 0;
  context.state = "a=1";
  return context;
}

AttemptStart Attempt(uint64_t id, int number = 1) {
  AttemptStart attempt;
  attempt.id = {id};
  attempt.replica = "chat-a";
  attempt.engine = "vllm";
  attempt.model = "llama";
  attempt.operation = "chat";
  attempt.number = number;
  return attempt;
}

RequestSummary Summary() {
  RequestSummary summary;
  summary.method = "POST";
  summary.path = "/v1/chat/completions";
  summary.route = summary.path;
  summary.scheme = "http";
  summary.operation = "chat";
  summary.model = "llama";
  summary.outcome = "ok";
  summary.status = 200;
  summary.prompt_tokens = 12;
  summary.output_tokens = 34;
  summary.finish_reason = "stop";
  return summary;
}

std::string TextOf(const Span& span, const std::string& key) {
  for (const SpanAttribute& attribute : span.attributes) {
    if (attribute.key == key) return std::get<std::string>(attribute.value);
  }
  return "";
}

TEST(RequestTrace, NamesTheRuleAndThePathOfTheClient) {
  RequestTrace trace(Context(), SpanId{9}, At(1), true);
  AttemptStart attempt = Attempt(11);
  attempt.method = "GET";
  trace.OnForward(At(2), attempt);
  RequestSummary summary = Summary();
  summary.method = "GET";
  summary.path = "/own/a";
  summary.route = "/own/*";
  const EndedTrace ended = trace.End(At(3), summary);
  ASSERT_EQ(ended.spans.size(), 2u);
  for (const Span& span : ended.spans) EXPECT_EQ(TextOf(span, "http.request.method"), "GET");
  const Span& server = ended.spans[0].name == "GET /own/*" ? ended.spans[0] : ended.spans[1];
  EXPECT_EQ(server.name, "GET /own/*");
  EXPECT_EQ(TextOf(server, "http.route"), "/own/*");
  EXPECT_EQ(TextOf(server, "url.path"), "/own/a");
}

TEST(RequestTrace, HasASpanPerWaitAndPerAttemptBelowThatOfTheServer) {
  RequestTrace trace(Context(), SpanId{9}, At(1), true);
  trace.OnWait(At(1), {10});
  trace.OnPark("memory", 2);
  trace.OnForward(At(2), Attempt(11));
  trace.OnAttemptEnd(At(3), {503, "overloaded", "The engine is full."});
  trace.OnWait(At(3), {12});
  trace.OnForward(At(4), Attempt(13, 2));
  trace.OnAttemptEnd(At(6), {200, "", ""});
  RequestSummary summary = Summary();
  summary.ttft = Duration::Seconds(3.5);
  const EndedTrace ended = trace.End(At(7), summary);
  ASSERT_EQ(ended.spans.size(), 5u);
  const Span& server = ended.spans[0];
  EXPECT_EQ(server.name, "POST /v1/chat/completions");
  EXPECT_EQ(server.parent, SpanId{9});
  EXPECT_EQ(server.start, At(1));
  EXPECT_EQ(server.end, At(7));
  EXPECT_FALSE(server.failed);
  ASSERT_EQ(server.events.size(), 1u);
  EXPECT_EQ(server.events[0].name, "first_token");
  EXPECT_EQ(server.events[0].at, At(4.5));
  for (size_t i = 1; i < ended.spans.size(); ++i) EXPECT_EQ(ended.spans[i].parent, SpanId{3});
  EXPECT_EQ(ended.spans[1].name, "queue");
  EXPECT_EQ(TextOf(ended.spans[1], "penstock.wait.reason"), "memory");
  EXPECT_EQ(ended.spans[1].end, At(2));
  EXPECT_EQ(ended.spans[2].name, "chat llama");
  EXPECT_EQ(ended.spans[2].kind, Span::Kind::kClient);
  EXPECT_TRUE(ended.spans[2].failed);
  EXPECT_EQ(TextOf(ended.spans[2], "error.type"), "overloaded");
  EXPECT_EQ(TextOf(ended.spans[2], "gen_ai.provider.name"), "vllm");
  EXPECT_EQ(ended.spans[4].id, SpanId{13});
  EXPECT_FALSE(ended.spans[4].failed);
}

TEST(RequestTrace, AnEngineIsBelowItsAttempt) {
  for (const bool recorded : {true, false}) {
    RequestTrace trace(Context(recorded), SpanId(), At(0), recorded);
    EXPECT_EQ(ParseTraceparent(trace.Traceparent())->span, SpanId{3});
    trace.OnForward(At(1), Attempt(11));
    EXPECT_EQ(ParseTraceparent(trace.Traceparent())->span, SpanId{11});
    EXPECT_EQ(ParseTraceparent(trace.Traceparent())->sampled(), recorded);
  }
}

TEST(RequestTrace, ThatIsNotRecordedHasNoSpans) {
  RequestTrace trace(Context(false), SpanId(), At(0), false);
  trace.OnWait(At(0), {4});
  trace.OnForward(At(1), Attempt(11));
  trace.OnEvent(At(2), "parked");
  EXPECT_TRUE(trace.End(At(3), Summary()).spans.empty());
}

TEST(RequestTrace, ARefusalEndsTheWaitAndNamesItsReason) {
  RequestTrace trace(Context(), SpanId(), At(0), true);
  trace.OnWait(At(0), {4});
  RequestSummary summary = Summary();
  summary.status = 429;
  summary.reason = "queue_full";
  summary.outcome = "refused";
  const EndedTrace ended = trace.End(At(5), summary);
  ASSERT_EQ(ended.spans.size(), 2u);
  EXPECT_EQ(ended.spans[1].end, At(5));
  EXPECT_EQ(TextOf(ended.spans[0], "penstock.reason"), "queue_full");
  EXPECT_EQ(TextOf(ended.spans[0], "error.type"), "queue_full");
  EXPECT_EQ(ended.spans[0].events.back().name, "end");
  // The fault is the client's, or of the time.
  EXPECT_FALSE(ended.spans[0].failed);
}

TEST(RequestTrace, AServerErrorFailsTheSpan) {
  RequestTrace trace(Context(), SpanId(), At(0), true);
  RequestSummary summary = Summary();
  summary.status = 502;
  summary.reason = "garbage";
  EXPECT_TRUE(trace.End(At(1), summary).spans[0].failed);
}

TEST(RequestTrace, EventsAreBounded) {
  RequestTrace trace(Context(), SpanId(), At(0), true);
  for (int i = 0; i < 10'000; ++i) trace.OnEvent(At(i), "parked");
  for (int i = 0; i < 10'000; ++i) trace.OnForward(At(i), Attempt(5));
  const EndedTrace ended = trace.End(At(1), Summary());
  EXPECT_LE(ended.spans[0].events.size(), 130u);
  EXPECT_LE(ended.spans.size(), 70u);
}

TEST(OtlpJson, HasTheFormOfTheProtocol) {
  RequestTrace trace(Context(), SpanId{9}, At(1), true);
  trace.OnForward(At(2), Attempt(11));
  trace.OnAttemptEnd(At(3), {200, "", ""});
  std::vector<TimedTrace> traces;
  traces.push_back({trace.End(At(4), Summary()), 1'000'000'000'000'000'000});
  const json body = json::parse(OtlpJson({"penstock", "1.2", "i-1"}, traces));
  const json& of_sender = body["resourceSpans"][0];
  EXPECT_EQ(of_sender["resource"]["attributes"][0],
            json({{"key", "service.name"}, {"value", {{"stringValue", "penstock"}}}}));
  const json& spans = of_sender["scopeSpans"][0]["spans"];
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0]["traceId"], "00000000000000010000000000000002");
  EXPECT_EQ(spans[0]["spanId"], "0000000000000003");
  EXPECT_EQ(spans[0]["parentSpanId"], "0000000000000009");
  EXPECT_EQ(spans[0]["traceState"], "a=1");
  EXPECT_EQ(spans[0]["kind"], 2);
  EXPECT_EQ(spans[0]["startTimeUnixNano"], "1000000001000000000");
  EXPECT_EQ(spans[0]["endTimeUnixNano"], "1000000004000000000");
  bool tokens = false;
  bool finish = false;
  for (const json& attribute : spans[0]["attributes"]) {
    tokens |= attribute == json({{"key", "gen_ai.usage.output_tokens"}, {"value", {{"intValue", "34"}}}});
    finish |= attribute["key"] == "gen_ai.response.finish_reasons" &&
              attribute["value"]["arrayValue"]["values"][0]["stringValue"] == "stop";
  }
  EXPECT_TRUE(tokens);
  EXPECT_TRUE(finish);
}

TEST(OtlpJson, AReasonOfAnyLengthTakesLittle) {
  RequestTrace trace(Context(), SpanId(), At(1), true);
  RequestSummary summary = Summary();
  const std::string reason(1 << 20, 'x');
  summary.finish_reason = reason;
  std::vector<TimedTrace> traces;
  traces.push_back({trace.End(At(4), summary), 0});
  EXPECT_LT(OtlpJson({"penstock", "1.2", "i-1"}, traces).size(), size_t{10'000});
}

TEST(OtlpJson, TakesTextThatIsNoUtf8) {
  RequestTrace trace(Context(), SpanId(), At(1), true);
  RequestSummary summary = Summary();
  summary.model = "\xff\xfe";
  std::vector<TimedTrace> traces;
  traces.push_back({trace.End(At(4), summary), 0});
  EXPECT_FALSE(json::parse(OtlpJson({"penstock", "1", "i"}, traces), nullptr, false).is_discarded());
}

TEST(OtlpJson, ReadsTheRejectedSpansOfAnAnswer) {
  EXPECT_EQ(RejectedSpans(R"({"partialSuccess":{"rejectedSpans":"3","errorMessage":"no"}})"), 3);
  EXPECT_EQ(RejectedSpans(R"({"partialSuccess":{"rejectedSpans":3}})"), 3);
  for (const char* none :
       {"", "{}", "null", "<html>", R"({"partialSuccess":[]})", R"({"partialSuccess":{}})",
        R"({"partialSuccess":{"rejectedSpans":-1}})", R"({"partialSuccess":{"rejectedSpans":"x"}})"}) {
    EXPECT_EQ(RejectedSpans(none), 0) << none;
  }
}

TEST(Operations, AreThoseOfTheConventions) {
  EXPECT_EQ(OperationOf("chat"), "chat");
  EXPECT_EQ(OperationOf("messages"), "chat");
  EXPECT_EQ(OperationOf("completions"), "text_completion");
  EXPECT_EQ(OperationOf("embeddings"), "embeddings");
  EXPECT_EQ(OperationOf("rerank"), "");
}

}  // namespace
}  // namespace penstock
