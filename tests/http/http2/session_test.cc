#include "router/http/http2/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/http/http2/frames.h"

namespace penstock::http2 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Writes down what the session reports, and answers nothing by itself.
class Notes final : public Session::Owner {
 public:
  bool OnHead(StreamId stream, bool trailers) override {
    lines.push_back(absl::StrCat(trailers ? "trailers " : "head ", stream));
    return !refuse;
  }
  void OnField(StreamId, absl::string_view name, absl::string_view value) override {
    if (fields.size() < 4096) absl::StrAppend(&fields, name, "=", value, ";");
  }
  void OnBadField(StreamId stream) override { lines.push_back(absl::StrCat("bad field ", stream)); }
  void OnHeadEnd(StreamId stream, bool ended) override {
    lines.push_back(absl::StrCat(ended ? "whole " : "headed ", stream));
  }
  void OnBody(StreamId stream, absl::string_view bytes) override {
    lines.push_back(absl::StrCat("body ", stream, " ", bytes));
  }
  void OnBodyEnd(StreamId stream) override { lines.push_back(absl::StrCat("end ", stream)); }
  void OnClosed(StreamId stream) override { lines.push_back(absl::StrCat("closed ", stream)); }
  void OnMalformed() override { lines.emplace_back("malformed"); }
  size_t OnRoom(StreamId stream, std::span<uint8_t> into, bool& ended) override {
    std::string& left = bodies[stream];
    const std::string part = left.substr(0, into.size());
    std::copy(part.begin(), part.end(), into.begin());
    left.erase(0, part.size());
    ended = left.empty() && done;
    return part.size();
  }

  std::vector<std::string> lines;
  std::string fields;
  std::map<StreamId, std::string> bodies;
  bool done = true;
  bool refuse = false;
};

class Http2Session : public testing::Test {
 protected:
  Http2Session() {
    Give(absl::StrCat(kPreface, FrameOf(kSettingsFrame, 0, 0, "")));
    first_ = Out();
    Give(FrameOf(kSettingsFrame, kAcknowledged, 0, ""));
  }
  bool Give(const std::string& bytes) {
    absl::string_view left = bytes;
    bool alive = true;
    while (alive && !left.empty()) alive = session_.Receive(left, now_);
    return alive;
  }
  std::vector<FrameText> Out() {
    std::string all;
    for (absl::string_view some = session_.Output(); !some.empty(); some = session_.Output())
      absl::StrAppend(&all, some);
    return FramesIn(all);
  }
  std::string Get(uint32_t stream) {
    return FrameOf(kHeadersFrame, kEndStream | kEndHeaders, stream, RequestFields("GET", "/a"));
  }

  Instant now_ = Instant::FromNanoseconds(1);
  Notes notes_;
  Session session_{notes_, {.max_streams = 3, .max_header = 2000}};
  std::vector<FrameText> first_;
};

TEST_F(Http2Session, ItGreetsWithItsLimitsAndWindows) {
  ASSERT_GE(first_.size(), 2u);
  EXPECT_EQ(first_[0].kind, kSettingsFrame);
  EXPECT_THAT(first_[0].payload, HasSubstr(Number(3, 2) + Number(3, 4)));
  EXPECT_THAT(first_[0].payload, HasSubstr(Number(4, 2) + Number(Session::kStreamWindow, 4)));
}

TEST_F(Http2Session, ARequestComesAsItsParts) {
  EXPECT_TRUE(Give(FrameOf(kHeadersFrame, kEndHeaders, 1, RequestFields("POST", "/a")) +
                   FrameOf(kDataFrame, 0, 1, "bo") + FrameOf(kDataFrame, kEndStream, 1, "dy")));
  EXPECT_THAT(notes_.lines, ElementsAre("head 1", "headed 1", "body 1 bo", "body 1 dy", "end 1"));
  EXPECT_EQ(notes_.fields, ":method=POST;:path=/a;:scheme=http;:authority=p;");
}

TEST_F(Http2Session, AnyCutOfTheBytesGivesTheSameRequest) {
  const std::string bytes = FrameOf(kHeadersFrame, 0, 1, RequestFields("GET", "/a")) +
                            FrameOf(kContinuationFrame, kEndHeaders, 1, Literal("x-a", "b")) +
                            FrameOf(kDataFrame, kEndStream, 1, "x");
  for (const char c : bytes) EXPECT_TRUE(Give(std::string(1, c)));
  EXPECT_THAT(notes_.lines, ElementsAre("head 1", "headed 1", "body 1 x", "end 1"));
  EXPECT_THAT(notes_.fields, HasSubstr("x-a=b;"));
}

TEST_F(Http2Session, AnAnswerIsItsHeadAndItsBody) {
  Give(Get(1));
  notes_.bodies[1] = "hello";
  session_.Answer(1, 200, {{"a", "b"}}, /*ended=*/false);
  const std::vector<FrameText> out = Out();
  ASSERT_GE(out.size(), 2u);
  EXPECT_EQ(out[out.size() - 2].kind, kHeadersFrame);
  EXPECT_EQ(out.back().payload, "hello");
  EXPECT_EQ(out.back().flags, kEndStream);
  EXPECT_EQ(notes_.lines.back(), "closed 1");
}

TEST_F(Http2Session, AnAnswerWaitsForBytesAndForAWindow) {
  Give(FrameOf(kSettingsFrame, 0, 0, Number(4, 2) + Number(3, 4)) + Get(1));
  notes_.done = false;
  session_.Answer(1, 200, {}, /*ended=*/false);
  EXPECT_NE(Out().back().kind, kDataFrame);
  notes_.bodies[1] = "hello";
  session_.Resume(1);
  EXPECT_EQ(Out().back().payload, "hel");
  EXPECT_TRUE(Out().empty());
  Give(FrameOf(kWindowFrame, 0, 1, Number(100, 4)));
  EXPECT_EQ(Out().back().payload, "lo");
}

TEST_F(Http2Session, ConsumedBytesOpenTheWindowAgain) {
  Give(FrameOf(kHeadersFrame, kEndHeaders, 1, RequestFields("POST", "/a")));
  const std::string piece(16'384, 'x');
  for (int i = 0; i < Session::kStreamWindow / 16'384; ++i) EXPECT_TRUE(Give(FrameOf(kDataFrame, 0, 1, piece)));
  for (const FrameText& frame : Out()) EXPECT_NE(frame.kind, kWindowFrame);
  session_.ConsumeStream(1, Session::kStreamWindow);
  EXPECT_EQ(Out().back().kind, kWindowFrame);
}

TEST_F(Http2Session, AResetClosesTheStreamAndABadMessageIsRefused) {
  Give(FrameOf(kHeadersFrame, kEndHeaders, 1, RequestFields("POST", "/a")) + FrameOf(kResetFrame, 0, 1, Number(8, 4)));
  EXPECT_EQ(notes_.lines.back(), "closed 1");
  EXPECT_TRUE(Give(FrameOf(kHeadersFrame, kEndStream | kEndHeaders, 3, Literal(":method", "GET"))));
  EXPECT_THAT(notes_.lines, testing::Contains("malformed"));
  EXPECT_EQ(Out().back().kind, kResetFrame);
}

TEST_F(Http2Session, AFieldWithABadByteIsReported) {
  EXPECT_TRUE(Give(FrameOf(kHeadersFrame, kEndStream | kEndHeaders, 1,
                           RequestFields("GET", "/a") + Literal("x-a", absl::string_view("a\0b", 3)))));
  EXPECT_THAT(notes_.lines, ElementsAre("head 1", "bad field 1", "whole 1"));
}

TEST_F(Http2Session, FloodsOfEveryKindEndItWithCalm) {
  for (const std::string& flood :
       {FrameOf(kPingFrame, 0, 0, "12345678"), FrameOf(kSettingsFrame, 0, 0, ""),
        FrameOf(kPriorityFrame, 0, 1, Number(3, 4) + "a"), FrameOf(kWindowFrame, 0, 0, Number(1, 4)),
        FrameOf(0x0a, 0, 0, "origin"), FrameOf(0x10, 0, 0, "urgency"), FrameOf(0xfe, 0x7f, 1, "unknown")}) {
    Notes notes;
    Session session(notes, {});
    std::string bytes(kPreface);
    absl::StrAppend(&bytes, FrameOf(kSettingsFrame, 0, 0, ""));
    for (int i = 0; i < 3000; ++i) bytes += flood;
    absl::string_view left = bytes;
    while (session.Receive(left, now_) && !left.empty()) {
      while (!session.Output().empty()) continue;
    }
    EXPECT_EQ(session.fault(), Session::Fault::kFlood);
  }
}

TEST_F(Http2Session, ResetsThatAClientProvokesCostAsMuchAsItsOwn) {
  const std::string too_much = Number(0x7fffffff, 4);
  int streams = 0;
  for (; session_.fault() == Session::Fault::kNone && streams < 2000; ++streams) {
    const auto stream = static_cast<uint32_t>(2 * streams + 1);
    Give(FrameOf(kHeadersFrame, kEndHeaders, stream, RequestFields("POST", "/a")));
    Give(FrameOf(kWindowFrame, 0, stream, too_much));
    while (!session_.Output().empty()) continue;
  }
  EXPECT_EQ(session_.fault(), Session::Fault::kFlood);
  EXPECT_LT(streams, 500);
  EXPECT_GT(streams, 200);
}

TEST_F(Http2Session, AFrameOfAnUnknownKindIsPassedOver) {
  EXPECT_TRUE(Give(FrameOf(0xfe, 0x7f, 0, "unknown") + Get(1) + FrameOf(0x10, 0, 0, Number(1, 4) + "u=1")));
  EXPECT_THAT(notes_.lines, ElementsAre("head 1", "whole 1"));
}

TEST_F(Http2Session, AClientMayRenewBothWindowsForEachPieceThatItRead) {
  constexpr uint32_t kRead = 4096;
  constexpr uint32_t kPiece = 16'384;
  Give(Get(1));
  notes_.done = false;
  session_.Answer(1, 200, {}, /*ended=*/false);
  Out();
  const std::string renewals =
      FrameOf(kWindowFrame, 0, 0, Number(kRead, 4)) + FrameOf(kWindowFrame, 0, 1, Number(kRead, 4));
  for (int i = 0; i < 2000; ++i) {
    notes_.bodies[1] = std::string(kPiece, 'x');
    session_.Resume(1);
    ASSERT_EQ(Out().back().payload.size(), kPiece);
    for (uint32_t read = 0; read < kPiece; read += kRead) ASSERT_TRUE(Give(renewals)) << i;
  }
  EXPECT_EQ(session_.fault(), Session::Fault::kNone);
}

TEST_F(Http2Session, AHeadThatStandsForMuchMoreIsAFlood) {
  // A field of 4000 bytes enters the table of the connection; one byte stands for it from then on.
  const std::string kept = absl::StrCat("\x40\x03x-a\x7f\xa1\x1e", std::string(4000, 'b'));
  EXPECT_FALSE(
      Give(FrameOf(kHeadersFrame, kEndStream, 1, RequestFields("GET", "/a") + kept + std::string(8000, '\xbe'))));
  EXPECT_EQ(session_.fault(), Session::Fault::kFlood);
  const std::vector<FrameText> out = Out();
  ASSERT_FALSE(out.empty());
  EXPECT_EQ(out.back().kind, kGoAwayFrame);
  EXPECT_EQ(NumberAt(out.back().payload, 4, 4), 11u);
}

TEST_F(Http2Session, ManyLargeHeadsPauseTheirCall) {
  const std::string kept = absl::StrCat("\x40\x03x-a\x7f\xa1\x1e", std::string(4000, 'b'));
  std::string bytes = FrameOf(kHeadersFrame, kEndStream | kEndHeaders, 1, RequestFields("GET", "/a") + kept);
  bytes += FrameOf(kHeadersFrame, kEndStream | kEndHeaders, 3, RequestFields("GET", "/a") + std::string(40, '\xbe'));
  absl::string_view left = bytes;
  EXPECT_TRUE(session_.Receive(left, now_));
  EXPECT_FALSE(left.empty());
  EXPECT_TRUE(session_.paused());
}

TEST_F(Http2Session, AHeadWhoseLastFieldPausesEndsWithAnotherCall) {
  const std::string kept = absl::StrCat("\x40\x03x-a\x7f\xa1\x1e", std::string(4000, 'b'));
  // 167 bytes of the first fields, and 33 times 4035, are more than 128 KiB by the last field only.
  const std::string bytes =
      FrameOf(kHeadersFrame, kEndStream | kEndHeaders, 1, RequestFields("GET", "/a") + kept + std::string(32, '\xbe'));
  absl::string_view left = bytes;
  EXPECT_TRUE(session_.Receive(left, now_));
  EXPECT_TRUE(left.empty());
  EXPECT_TRUE(session_.paused());
  EXPECT_THAT(notes_.lines, ElementsAre("head 1"));
  EXPECT_TRUE(session_.Receive(left, now_));
  EXPECT_FALSE(session_.paused());
  EXPECT_THAT(notes_.lines, ElementsAre("head 1", "whole 1"));
}

TEST_F(Http2Session, AFaultOfTheConnectionEndsItWithItsCode) {
  Give(FrameOf(kDataFrame, 0, 1, "x"));
  EXPECT_EQ(Out().back().kind, kGoAwayFrame);
  EXPECT_EQ(session_.fault(), Session::Fault::kMalformed);
}

TEST_F(Http2Session, BehindAGoAwayStreamsEndAndNoneBegins) {
  Give(Get(1));
  session_.GoAway(/*flood=*/false);
  Out();
  Give(Get(3));
  EXPECT_THAT(notes_.lines, ElementsAre("head 1", "whole 1"));
  session_.Answer(1, 204, {}, /*ended=*/true);
  Out();
  EXPECT_EQ(notes_.lines.back(), "closed 1");
}

}  // namespace
}  // namespace penstock::http2
