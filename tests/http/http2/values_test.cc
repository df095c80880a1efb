// The values of HTTP/2 that need no session: heads both ways, the budget of frames, the bytes of an answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>

#include "router/http/http2/answer_head.h"
#include "router/http/http2/frame_budget.h"
#include "router/http/http2/head_builder.h"
#include "router/http/http2/stream_output.h"
#include "router/openai/error/api_error.h"

namespace penstock::http2 {
namespace {

std::string FieldsOf(const HeaderList& headers) {
  std::string text;
  for (const auto [name, value] : headers) text += std::string(name) + "=" + std::string(value) + ";";
  return text;
}

HeadBuilder Begun() {
  HeadBuilder built(1000);
  built.Add(":method", "POST");
  built.Add(":path", "/v1/a?b");
  built.Add(":scheme", "https");
  built.Add(":authority", "p:1");
  return built;
}

TEST(Http2Heads, PseudoFieldsBecomeTheRequestLineAndHost) {
  HeadBuilder built = Begun();
  built.Add("content-length", "12");
  built.Add("cookie", "a=b");
  built.Add("expect", "100-Continue");
  built.Add("cookie", "c=d");
  built.End();
  ASSERT_FALSE(built.error());
  EXPECT_EQ(built.head().method, "POST");
  EXPECT_EQ(built.head().target, "/v1/a?b");
  EXPECT_EQ(built.head().length, 12u);
  EXPECT_TRUE(built.head().expects_continue);
  EXPECT_EQ(FieldsOf(built.head().headers), "content-length=12;expect=100-Continue;cookie=a=b; c=d;host=p:1;");
}

TEST(Http2Heads, LimitsAndDoubtfulFieldsAreThoseOfHttp1) {
  HeadBuilder large = Begun();
  large.Add("x-a", std::string(1000, 'a'));
  EXPECT_EQ(large.error()->status, 431);
  HeadBuilder many = Begun();
  for (int i = 0; i < 100; ++i) many.Add("a", "");
  EXPECT_FALSE(many.error());
  many.AddTrailer("a", "");
  EXPECT_EQ(many.error()->status, 431);
  for (const char* once : {"host", "content-type", "content-encoding", "authorization", "x-api-key"}) {
    HeadBuilder twice = Begun();
    twice.Add(once, "p:1");
    EXPECT_FALSE(twice.error());
    twice.Add(once, "p:1");
    EXPECT_EQ(twice.error()->status, 400) << once;
  }
  HeadBuilder other = Begun();
  other.Add("host", "q");
  other.End();
  EXPECT_EQ(other.error()->status, 400);
}

TEST(Http2Heads, ItsMemoryIsKnownWithTheRoomForMoreFields) {
  HeadBuilder built(64 << 10);
  const size_t before = built.held();
  size_t bytes = 0;
  for (int i = 0; i < 40; ++i) {
    built.Add("x-a", std::string(600, 'a'));
    built.Add("cookie", std::string(200, 'b'));
    bytes += 803;
    EXPECT_GE(built.held(), bytes);
  }
  built.End();
  EXPECT_GE(built.held(), bytes);
  EXPECT_LE(built.held(), before + 2 * bytes + 4096) << "cookies are not there twice";
  const RequestHead taken = std::move(built.head());
  EXPECT_GE(taken.headers.held(), bytes);
  EXPECT_LT(built.held(), 1024u);
}

TEST(Http2Heads, ARefusedHeadKeepsWhatItsAnswerNeeds) {
  HeadBuilder built(64 << 10);
  built.Add(":method", "POST");
  built.Add(":path", std::string(5000, '/'));
  built.Add("origin", "https://a");
  built.Add("x-request-id", "id-1");
  built.Add("x-a", std::string(5000, 'a'));
  built.Refuse(NoBodyMemory());
  EXPECT_LT(built.held(), 2048u);
  built.Add("x-b", std::string(5000, 'b'));
  built.End();
  EXPECT_LT(built.held(), 2048u);
  EXPECT_EQ(built.error()->status, 503);
  EXPECT_EQ(built.head().method, "POST");
  EXPECT_EQ(built.head().target.substr(0, 2), "//");
  EXPECT_EQ(FieldsOf(built.head().headers), "origin=https://a;x-request-id=id-1;");
}

TEST(Http2Heads, AnAnswerHasNoFieldOfAConnection) {
  AnswerHead head;
  head.Add("Content-Type", "text/a\r\nb");
  head.Add("Connection", "close");
  head.Add("Transfer-Encoding", "chunked");
  EXPECT_THAT(FieldsOf(head.fields()), testing::MatchesRegex("date=.* GMT;content-type=text/ab;"));
}

TEST(Http2Frames, TheBudgetComesBackWithTimeAndWithAnswers) {
  FrameBudget budget;
  Instant now = Instant::FromNanoseconds(1);
  EXPECT_TRUE(budget.Spend(FrameBudget::kMost, now));
  EXPECT_FALSE(budget.Spend(1, now));
  now = now + Duration::Seconds(1);
  EXPECT_TRUE(budget.Spend(FrameBudget::kPerSecond - 1, now));
  EXPECT_FALSE(budget.Spend(1, now));
  budget.Earn(3);
  EXPECT_TRUE(budget.Spend(1, now));
  now = now + Duration::Seconds(1000);
  EXPECT_TRUE(budget.Spend(FrameBudget::kMost, now));
  EXPECT_FALSE(budget.Spend(1, now));
}

TEST(Http2Output, BytesLeaveInOrderAndTheEndComesWithTheLast) {
  StreamOutput output;
  std::array<uint8_t, 4> into{};
  const auto take = [&](bool& ended) {
    const size_t size = output.Take(into, ended);
    return std::string(into.begin(), into.begin() + static_cast<std::ptrdiff_t>(size));
  };
  bool ended = false;
  EXPECT_EQ(take(ended), "");
  output.Append("abcde");
  EXPECT_EQ(take(ended), "abcd");
  output.Append("f");
  output.Refer("ghi");
  EXPECT_EQ(output.size(), 5u);
  EXPECT_EQ(take(ended), "efgh");
  EXPECT_FALSE(ended);
  output.End();
  EXPECT_EQ(take(ended), "i");
  EXPECT_TRUE(ended);
  EXPECT_TRUE(output.finished());
}

}  // namespace
}  // namespace penstock::http2
