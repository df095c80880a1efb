#include "router/http/request/body_framing.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

using Fault = BodyFraming::Fault;

constexpr BodyFraming::Limits kLimits = {1000, 200};

struct Outcome {
  std::string body;
  std::string left;
  Fault fault;
  bool done;
};

// The wire in pieces of a size.
Outcome Read(BodyFraming framing, const std::string& wire, size_t piece) {
  std::string body;
  std::string left;
  for (size_t at = 0; at < wire.size(); at += piece) {
    absl::string_view input = absl::string_view(wire).substr(at, piece);
    while (true) {
      const absl::string_view data = framing.Next(input);
      if (data.empty()) break;
      absl::StrAppend(&body, data);
    }
    absl::StrAppend(&left, input);
  }
  return {body, left, framing.fault(), framing.done()};
}

Outcome Chunks(const std::string& wire) {
  const Outcome whole = Read(BodyFraming::InChunks(kLimits), wire, wire.size());
  const Outcome bytes = Read(BodyFraming::InChunks(kLimits), wire, 1);
  EXPECT_EQ(whole.body, bytes.body) << wire;
  EXPECT_EQ(whole.fault, bytes.fault) << wire;
  EXPECT_EQ(whole.done, bytes.done) << wire;
  return whole;
}

TEST(BodyFraming, ALengthCountsItsBytesAndLeavesTheOthers) {
  for (const size_t piece : {1, 2, 100}) {
    const Outcome outcome = Read(BodyFraming::OfLength(5, kLimits), "helloGET", piece);
    EXPECT_EQ(outcome.body, "hello");
    EXPECT_EQ(outcome.left, "GET");
    EXPECT_TRUE(outcome.done);
  }
  EXPECT_TRUE(BodyFraming().done());
  EXPECT_TRUE(BodyFraming::OfLength(0, kLimits).done());
  EXPECT_EQ(BodyFraming::OfLength(1001, kLimits).fault(), Fault::kBodyTooLarge);
}

TEST(BodyFraming, ChunksAreJoined) {
  for (const char* wire : {"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "5\r\nabcde\r\n0\r\n\r\n",
                           "005;a=b;c\r\nabcde\r\n00\r\n\r\n", "5 ;a\r\nabcde\r\n0\r\nX-Sum: 1\r\nY:\r\n\r\n"}) {
    const Outcome outcome = Chunks(wire);
    EXPECT_EQ(outcome.body, "abcde") << wire;
    EXPECT_TRUE(outcome.done) << wire;
  }
  EXPECT_EQ(Chunks("0\r\n\r\nGET").left, "GET");
}

TEST(BodyFraming, EveryBrokenChunkIsMalformed) {
  for (const char* wire : {"\r\n",
                           "g\r\n",
                           "-1\r\n",
                           "0x1\r\n",
                           " 1\r\n",
                           "1 \r\n",
                           "1 2\r\n",
                           "1\n",
                           "1\r\r",
                           "1;a\n",
                           "1;a\x01",
                           "1\r\nab",
                           "1\r\na\n",
                           "1\r\na\rb",
                           "10000000000000000\r\n",
                           "0\r\n\n",
                           "0\r\n: x\r\n",
                           "0\r\n x: y\r\n",
                           "0\r\nx y: z\r\n",
                           "0\r\nx\r\n",
                           "0\r\nx: y\n",
                           "0\r\nx: \x01",
                           "0\r\n\rx"}) {
    EXPECT_EQ(Chunks(wire).fault, Fault::kMalformed) << wire;
  }
}

TEST(BodyFraming, AChunkLineIsBounded) {
  const std::string longest = "1;" + std::string(BodyFraming::kMaxChunkLine - 3, 'e');
  EXPECT_EQ(Chunks(longest + "\r\na\r\n0\r\n\r\n").fault, Fault::kNone);
  EXPECT_EQ(Chunks(longest + "e\r\n").fault, Fault::kLineTooLong);
  EXPECT_EQ(Chunks(std::string(BodyFraming::kMaxChunkLine + 1, '0')).fault, Fault::kLineTooLong);
}

TEST(BodyFraming, LongLinesOfManyChunksAreBoundedTogether) {
  const std::string padded = "1;" + std::string(1000, 'e') + "\r\na\r\n";
  std::string wire;
  for (int i = 0; i < 12; ++i) wire += padded;
  EXPECT_EQ(Chunks(wire).fault, Fault::kNone);
  for (int i = 0; i < 12; ++i) wire += padded;
  EXPECT_EQ(Chunks(wire).fault, Fault::kExcess);
  std::string plain;
  for (int i = 0; i < 900; ++i) plain += "1;ext=abc\r\na\r\n";
  EXPECT_EQ(Chunks(plain).fault, Fault::kNone);
}

TEST(BodyFraming, AllTrailersTogetherAreBounded) {
  const std::string end = "\r\n\r\n";
  const std::string start = "0\r\nx: ";
  EXPECT_TRUE(Chunks(start + std::string(200 - 7, 'a') + end).done);
  EXPECT_EQ(Chunks(start + std::string(200 - 6, 'a') + end).fault, Fault::kTrailersTooLarge);
  std::string many = "0\r\n";
  for (int i = 0; i < 60; ++i) many += "x: y\r\n";
  EXPECT_EQ(Chunks(many).fault, Fault::kTrailersTooLarge);
}

TEST(BodyFraming, AChunkThatWouldMakeTheBodyTooLargeIsRefusedByItsLine) {
  EXPECT_EQ(Chunks("3e8\r\n").fault, Fault::kNone);
  EXPECT_EQ(Chunks("3e9\r\n").fault, Fault::kBodyTooLarge);
  EXPECT_EQ(Chunks("1\r\na\r\n3e8\r\n").fault, Fault::kBodyTooLarge);
  EXPECT_EQ(Chunks("ffffffffffffffff\r\n").fault, Fault::kBodyTooLarge);
}

}  // namespace
}  // namespace penstock
