#include "router/http/request_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace penstock {
namespace {

using State = RequestReader::State;

RequestReader Small() { return RequestReader({1024, 100}); }

TEST(RequestReader, ARequestArrivingByteByByteIsRead) {
  const std::string wire = "POST /v1/x HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nContent-Length: 3\r\n\r\nabc";
  RequestReader reader = Small();
  State state = State::kNeedMore;
  for (char c : wire) {
    ASSERT_NE(state, State::kDone);
    reader.Append(absl::string_view(&c, 1));
    state = reader.Advance();
    if (state == State::kHeadDone) state = reader.Advance();
  }
  ASSERT_EQ(state, State::kDone);
  const ClientRequest request = reader.Take();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/v1/x");
  EXPECT_EQ(request.body, "abc");
  EXPECT_EQ(FindHeader(request.headers, "x-a"), "1");
  EXPECT_TRUE(reader.Idle());
}

TEST(RequestReader, ARequestHasBegunWithItsFirstByteWhereverItIsCut) {
  const std::string wire = "POST /v1/x HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nContent-Length: 3\r\n\r\nabc";
  for (size_t cut = 1; cut < wire.size(); ++cut) {
    RequestReader reader = Small();
    EXPECT_TRUE(reader.Idle());
    reader.Append(wire.substr(0, cut));
    if (reader.Advance() == State::kHeadDone) reader.Advance();
    EXPECT_FALSE(reader.Idle()) << "cut at " << cut;
  }
}

TEST(RequestReader, AnEmptyChunkedBodyMayComeByteByByte) {
  RequestReader reader = Small();
  State state = State::kNeedMore;
  for (const char c : std::string("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")) {
    reader.Append(absl::string_view(&c, 1));
    state = reader.Advance();
    if (state == State::kHeadDone) state = reader.Advance();
  }
  ASSERT_EQ(state, State::kDone);
  EXPECT_EQ(reader.Take().body, "");
}

TEST(RequestReader, PipelinedRequestsComeOneByOne) {
  RequestReader reader = Small();
  reader.Append("GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_EQ(reader.Advance(), State::kDone);
  EXPECT_EQ(reader.Take().target, "/a");
  ASSERT_EQ(reader.Advance(), State::kDone);
  EXPECT_EQ(reader.Take().target, "/b");
  EXPECT_EQ(reader.Advance(), State::kNeedMore);
}

TEST(RequestReader, AChunkedBodyIsJoined) {
  RequestReader reader = Small();
  reader.Append("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  State state = reader.Advance();
  if (state == State::kHeadDone) state = reader.Advance();
  ASSERT_EQ(state, State::kDone);
  EXPECT_EQ(reader.Take().body, "abcde");
}

int StatusOf(const std::string& wire) {
  RequestReader reader = Small();
  reader.Append(wire);
  State state = reader.Advance();
  if (state == State::kHeadDone) state = reader.Advance();
  return state == State::kFailed ? reader.error().status : 0;
}

TEST(RequestReader, LimitsAndBrokenFramingHaveTheirStatus) {
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(2000, 'a')), 431);
  EXPECT_EQ(StatusOf("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 101\r\n\r\n"), 413);
  EXPECT_EQ(StatusOf("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n" + std::string(255, 'a')),
            413);
  EXPECT_EQ(StatusOf("nonsense\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -3\r\n\r\n"), 400);
}

TEST(RequestReader, ALimitIsTheLastThatPasses) {
  const std::string post = "POST / HTTP/1.1\r\nHost: h\r\n";
  const std::string chunked = post + "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(StatusOf(post + "Content-Length: 100\r\n\r\n" + std::string(100, 'a')), 0);
  EXPECT_EQ(StatusOf(chunked + "64\r\n" + std::string(100, 'a') + "\r\n0\r\n\r\n"), 0);
  EXPECT_EQ(StatusOf(chunked + "64\r\n" + std::string(100, 'a') + "\r\n1\r\na\r\n0\r\n\r\n"), 413);
  const std::string head = "GET / HTTP/1.1\r\nHost: h\r\nX: ";
  EXPECT_EQ(StatusOf(head + std::string(1024 - head.size() - 4, 'a') + "\r\n\r\n"), 0);
  EXPECT_EQ(StatusOf(head + std::string(1025 - head.size() - 4, 'a') + "\r\n\r\n"), 431);
}

// A request that an intermediary could read differently is refused.
TEST(RequestReader, WhatCanBeReadInTwoWaysIsRefused) {
  const std::string post = "POST / HTTP/1.1\r\nHost: h\r\n";
  for (const std::string fields :
       {"Host: h\r\n", "X: a\r\n b\r\n", "X: a\r\n\tb\r\n", "Content-Length: 3\r\nContent-Length: 3\r\n",
        "Content-Length: 3, 3\r\n", "Transfer-Encoding: gzip\r\n", "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: identity\r\n"}) {
    EXPECT_EQ(StatusOf(post + fields + "\r\nabc"), 400) << fields;
  }
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.0\r\n\r\n"), 0);
  EXPECT_EQ(StatusOf("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400);
}

TEST(RequestReader, MemoryOfBodiesIsTakenInPiecesAndGivenBack) {
  ByteBudget budget;
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ";
  const auto read = [&](size_t size, int64_t all) {
    RequestReader reader({1000, 1 << 20, &budget, Bytes(all)});
    reader.Append(head + std::to_string(size) + "\r\n\r\n" + std::string(size, 'a'));
    State state = reader.Advance();
    if (state == State::kHeadDone) state = reader.Advance();
    if (state == State::kFailed) return std::pair(reader.error().status, Bytes(0));
    const ClientRequest request = reader.Take();
    return std::pair(200, request.memory.held());
  };
  EXPECT_EQ(read(16 << 10, 0), std::pair(200, Bytes(0)));
  EXPECT_EQ(read((16 << 10) + 1, 64 << 10), std::pair(200, Bytes(64 << 10)));
  EXPECT_EQ(read(64 << 10, 64 << 10), std::pair(200, Bytes(64 << 10)));
  EXPECT_EQ(read((64 << 10) + 1, 64 << 10), std::pair(503, Bytes(0)));
  EXPECT_EQ(budget.used(), Bytes(0));
}

TEST(RequestReader, TheHeadIsToldBeforeTheBody) {
  RequestReader reader = Small();
  reader.Append("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(reader.Advance(), State::kHeadDone);
  EXPECT_TRUE(reader.expects_continue());
  EXPECT_TRUE(reader.InBody());
  EXPECT_EQ(reader.Advance(), State::kNeedMore);
}

}  // namespace
}  // namespace penstock
