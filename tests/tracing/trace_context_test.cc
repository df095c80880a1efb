#include "router/tracing/trace_context.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "router/tracing/begin_trace.h"
#include "router/tracing/trace_ids.h"

namespace penstock {
namespace {

constexpr char kTrace[] = "0af7651916cd43dd8448eb211c80319c";
constexpr char kGood[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

TEST(Traceparent, OfVersion00IsReadAndWritten) {
  const auto context = ParseTraceparent(kGood);
  ASSERT_TRUE(context);
  EXPECT_EQ(HexOf(context->trace), kTrace);
  EXPECT_EQ(HexOf(context->span), "b7ad6b7169203331");
  EXPECT_TRUE(context->sampled());
  EXPECT_EQ(FormatTraceparent(context->trace, context->span, context->flags), kGood);
}

TEST(Traceparent, OfALaterVersionMayHaveMoreFields) {
  EXPECT_TRUE(ParseTraceparent("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
  EXPECT_TRUE(ParseTraceparent("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-follows"));
  EXPECT_FALSE(ParseTraceparent("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.what"));
}

TEST(Traceparent, UnknownFlagsAreDropped) {
  const auto context = ParseTraceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-fe");
  ASSERT_TRUE(context);
  EXPECT_FALSE(context->sampled());
  EXPECT_EQ(context->flags, TraceContext::kRandom);
}

TEST(Traceparent, ThatBreaksARuleIsNone) {
  for (const char* bad : {
           "",
           "00",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-extra",
           "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
           "0x-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
           "00-00000000000000000000000000000000-b7ad6b7169203331-01",
           "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
           "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333g-01",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0.",
           "00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01",
           "00-0af7651916cd43dd8448eb211c80319-cb7ad6b7169203331-01",
       }) {
    EXPECT_FALSE(ParseTraceparent(bad)) << bad;
  }
}

TEST(Tracestate, TakesWhatTheRulesAllow) {
  for (const char* good : {"", "a=1", "a=1,b=2", "a=1 , b=2", "a=1,,b=2", "0tenant@system=value", "a_-*/9=~ !x"}) {
    EXPECT_TRUE(IsTracestate(good)) << good;
  }
  EXPECT_TRUE(IsTracestate(std::string(256, 'k') + "=" + std::string(256, 'v')));
}

TEST(Tracestate, RefusesWhatTheyDoNot) {
  for (const char* bad : {"a", "=1", "a=", "A=1", "1a=1", "a@=1", "@a=1", "a@b@c=1", "a=b=c", "a=\x01", "a=\xc3\xa4"}) {
    EXPECT_FALSE(IsTracestate(bad)) << bad;
  }
  EXPECT_FALSE(IsTracestate(std::string(257, 'k') + "=1"));
  EXPECT_FALSE(IsTracestate("k=" + std::string(257, 'v')));
  std::vector<std::string> members;
  for (int i = 0; i < 33; ++i) members.push_back(absl::StrCat("k", i, "=1"));
  EXPECT_FALSE(IsTracestate(absl::StrJoin(members, ",")));
}

TEST(TraceHeaders, AreReadWhateverTheCaseOfTheirNames) {
  const auto context = ReadTraceContext({{"TraceParent", kGood}, {"TraceState", "a=1"}, {"tracestate", " b=2 "}});
  ASSERT_TRUE(context);
  EXPECT_EQ(context->state, "a=1,b=2");
}

TEST(TraceHeaders, TwoTraceparentsAreNone) {
  EXPECT_FALSE(ReadTraceContext({{"traceparent", kGood}, {"traceparent", kGood}}));
}

TEST(TraceHeaders, ABadTracestateCostsItselfOnly) {
  const auto context = ReadTraceContext({{"traceparent", kGood}, {"tracestate", "A=1"}});
  ASSERT_TRUE(context);
  EXPECT_EQ(context->state, "");
}

TEST(TraceHeaders, ATracestateAloneIsNone) { EXPECT_FALSE(ReadTraceContext({{"tracestate", "a=1"}})); }

TEST(Sampling, TakesTheShareOfTraceIds) {
  int taken = 0;
  for (int i = 0; i < 20'000; ++i) taken += IsSampled(NewTraceId(), 0.25) ? 1 : 0;
  EXPECT_NEAR(taken, 5'000, 500);
  EXPECT_TRUE(IsSampled(TraceId{1, ~uint64_t{0}}, 1));
  EXPECT_FALSE(IsSampled(TraceId{1, 0}, 0));
}

class Sink : public TraceSink {
 public:
  explicit Sink(double share) : share_(share) {}
  void Add(EndedTrace) override {}
  double sample() const override { return share_; }

 private:
  double share_;
};

TEST(BeginTrace, WithoutACollectorAndWithoutATraceThereIsNone) {
  EXPECT_EQ(BeginTrace({}, nullptr, Instant()), nullptr);
}

TEST(BeginTrace, WithoutACollectorTheClientsTraceparentGoesOnAsItIs) {
  const std::string later = "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-09-more";
  for (const std::string& given : {std::string(kGood), later}) {
    const auto trace = BeginTrace({{"Traceparent", " " + given}, {"tracestate", "a=1"}}, nullptr, Instant());
    ASSERT_NE(trace, nullptr);
    EXPECT_EQ(trace->Traceparent(), given);
    trace->OnForward(Instant(), {.id = {7}, .replica = "a"});
    EXPECT_EQ(trace->Traceparent(), given);
    EXPECT_EQ(trace->state(), "a=1");
    EXPECT_EQ(trace->trace_id(), kTrace);
    EXPECT_FALSE(trace->recorded());
  }
}

TEST(BeginTrace, WithoutACollectorAnInvalidTraceparentIsLeftOut) {
  EXPECT_EQ(BeginTrace({{"traceparent", "00-1"}, {"tracestate", "a=1"}}, nullptr, Instant()), nullptr);
}

TEST(BeginTrace, GoesOnWithTheClientsTraceUnderAnotherSpan) {
  const Sink sink(0);
  const auto trace = BeginTrace({{"traceparent", kGood}, {"tracestate", "a=1"}}, &sink, Instant());
  ASSERT_NE(trace, nullptr);
  EXPECT_EQ(trace->trace_id(), kTrace);
  EXPECT_EQ(trace->state(), "a=1");
  EXPECT_TRUE(trace->recorded());
  const auto sent = ParseTraceparent(trace->Traceparent());
  ASSERT_TRUE(sent);
  EXPECT_EQ(HexOf(sent->trace), kTrace);
  EXPECT_NE(HexOf(sent->span), "b7ad6b7169203331");
  EXPECT_TRUE(sent->sampled());
}

TEST(BeginTrace, ReplacesAnInvalidTraceAndItsState) {
  const Sink sink(0);
  const auto trace = BeginTrace({{"traceparent", "00-1"}, {"tracestate", "a=1"}}, &sink, Instant());
  ASSERT_NE(trace, nullptr);
  EXPECT_TRUE(ParseTraceparent(trace->Traceparent()));
  EXPECT_EQ(trace->state(), "");
}

TEST(BeginTrace, TheClientsChoiceOfSamplingCounts) {
  const Sink all(1);
  const Sink none(0);
  const HeaderList sampled = {{"traceparent", kGood}};
  const HeaderList not_sampled = {{"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"}};
  EXPECT_TRUE(BeginTrace(sampled, &none, Instant())->recorded());
  EXPECT_FALSE(BeginTrace(not_sampled, &all, Instant())->recorded());
  EXPECT_TRUE(BeginTrace({}, &all, Instant())->recorded());
  EXPECT_FALSE(BeginTrace({}, &none, Instant())->recorded());
}

TEST(BeginTrace, ACallerWithoutANameGetsNoSpansOfRequestsThatAnybodyCanSend) {
  const Sink some(0.5);
  const Sink all(1);
  const auto by_client = BeginTrace({{"traceparent", kGood}}, &some, Instant());
  for (const int status : {401, 404}) {
    EXPECT_FALSE(IsWanted(*by_client, some, status, /*named_caller=*/false)) << status;
    EXPECT_TRUE(IsWanted(*by_client, some, status, /*named_caller=*/true)) << status;
    EXPECT_TRUE(IsWanted(*by_client, all, status, /*named_caller=*/false)) << status;
    EXPECT_TRUE(IsWanted(*BeginTrace({}, &all, Instant()), some, status, /*named_caller=*/false)) << status;
  }
  EXPECT_TRUE(IsWanted(*by_client, some, 200, /*named_caller=*/false));
  EXPECT_TRUE(IsWanted(*by_client, some, 503, /*named_caller=*/false));
}

}  // namespace
}  // namespace penstock
