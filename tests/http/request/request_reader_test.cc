#include "router/http/request/request_reader.h"

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
  EXPECT_EQ(request.body.view(), "abc");
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
  EXPECT_EQ(reader.Take().body.view(), "");
}

TEST(RequestReader, ABodyInPiecesIsItsOwnWhateverBecomesOfTheOfferedMemory) {
  RequestReader reader({1024, 1 << 20});
  std::string scratch =
      "POST /v1/files HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n" + std::string(20'000, 'a');
  reader.Offer(scratch);
  ASSERT_EQ(reader.Advance(), State::kHeadDone);
  reader.UseBody(BodyUse::kPieces);
  scratch.assign(scratch.size(), 'x');  // Another connection of the loop reads.
  std::string body;
  for (State state = reader.Advance(); state != State::kDone; state = reader.Advance()) {
    if (state == State::kPiece) body += std::string(reader.head().body.view());
    if (state == State::kNeedMore) reader.Append(std::string(80'000, 'b'));
    ASSERT_NE(state, State::kFailed);
  }
  body += std::string(reader.head().body.view());
  EXPECT_EQ(body, std::string(20'000, 'a') + std::string(80'000, 'b'));
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
  EXPECT_EQ(reader.Take().body.view(), "abcde");
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

struct Memory {
  explicit Memory(int64_t all) : limits{1000, 1 << 20, &budget, Bytes(all)} {}
  FairBudget budget;
  RequestReader::Limits limits;
};

TEST(RequestReader, TheBlockOfABodyIsCountedAndGivenBack) {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ";
  const auto read = [&](size_t size, int64_t all) {
    Memory memory(all);
    int status = 200;
    Bytes held{0};
    {
      RequestReader reader(memory.limits);
      reader.Append(head + std::to_string(size) + "\r\n\r\n" + std::string(size, 'a'));
      State state = reader.Advance();
      if (state == State::kHeadDone) state = reader.Advance();
      if (state == State::kFailed) status = reader.error().status;
      if (state == State::kDone) {
        const ClientRequest request = reader.Take();
        held = request.memory.held();
        EXPECT_EQ(request.body.size(), size);
      }
    }
    EXPECT_EQ(memory.budget.used(), Bytes(0));
    return std::pair(status, held);
  };
  const auto with_head = [&head](size_t size) {
    return Bytes(static_cast<int64_t>(head.size() + std::to_string(size).size() + 4 + size));
  };
  const size_t free = RequestReader::kFreeBytes - head.size() - 8;
  EXPECT_EQ(read(free, 100 << 10), std::pair(200, Bytes(0)));
  EXPECT_EQ(read(free + 1, 100 << 10), std::pair(200, with_head(free + 1)));
  EXPECT_EQ(read(50 << 10, 200 << 10), std::pair(200, with_head(50 << 10)));
  EXPECT_EQ(read(64 << 10, 63 << 10).first, 503);
}

TEST(RequestReader, AnAnnouncedBodyTakesNoMemoryBeforeItsBytesCome) {
  Memory memory(1 << 20);
  RequestReader reader(memory.limits);
  reader.Append("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\na");
  EXPECT_EQ(reader.Advance(), State::kHeadDone);
  EXPECT_EQ(reader.Advance(), State::kNeedMore);
  EXPECT_GE(memory.budget.used(), Bytes(64 << 10));
  EXPECT_LT(memory.budget.used(), Bytes(65 << 10));
}

TEST(RequestReader, TheBytesOfAHeadAreCounted) {
  Memory memory(100 << 10);
  RequestReader reader({64 << 10, 100, &memory.budget, Bytes(100 << 10)});
  reader.Append("GET / HTTP/1.1\r\nHost: h\r\n");
  for (int i = 0; i < 30; ++i) reader.Append("X: " + std::string(1000, 'y') + "\r\n");
  EXPECT_EQ(reader.Advance(), State::kNeedMore);
  EXPECT_GT(memory.budget.used(), Bytes(30'000));
  reader.Append("\r\n");
  ASSERT_EQ(reader.Advance(), State::kDone);
  EXPECT_GT(reader.Take().memory.held(), Bytes(30'000));
}

TEST(RequestReader, ADroppedBodyTakesNoMemory) {
  Memory memory(1 << 20);
  RequestReader reader(memory.limits);
  reader.Append("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n");
  EXPECT_EQ(reader.Advance(), State::kHeadDone);
  reader.UseBody(BodyUse::kDropped);
  const std::string body(100'000, 'a');
  reader.Offer(body);
  EXPECT_EQ(reader.Advance(), State::kDone);
  EXPECT_EQ(reader.Take().body.size(), 0u);
  EXPECT_EQ(memory.budget.used(), Bytes(0));
}

TEST(RequestReader, BytesReadAheadAreCounted) {
  Memory memory(100 << 10);
  RequestReader reader(memory.limits);
  for (int i = 0; i < 12; ++i) reader.Append(std::string(10 << 10, 'a'));
  EXPECT_GT(memory.budget.used(), Bytes(40 << 10));
  EXPECT_LE(memory.budget.used(), Bytes(100 << 10));
  EXPECT_EQ(reader.Advance(), State::kFailed);
  EXPECT_EQ(reader.error().status, 503);
  EXPECT_EQ(memory.budget.used(), Bytes(0));
}

// Framing is never stored: neither an endless chunk line nor endless trailers take memory.
TEST(RequestReader, EndlessFramingIsRefusedWithoutMemory) {
  const std::string chunked = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::pair<std::string, int> endless[] = {{"1;", 400}, {"0", 400}, {"0\r\nX: ", 431}, {"0\r\n", 431}};
  for (const auto& [start, status] : endless) {
    Memory memory(1 << 20);
    RequestReader reader(memory.limits);
    reader.Append(chunked);
    ASSERT_EQ(reader.Advance(), State::kHeadDone);
    reader.Append(start);
    State state = reader.Advance();
    const std::string more = start == "0" ? "0" : start == "0\r\n" ? "a:b\r\n" : "e";
    for (int i = 0; i < 6000 && state == State::kNeedMore; ++i) {
      reader.Offer(more);
      state = reader.Advance();
      EXPECT_EQ(reader.unread(), "");
    }
    ASSERT_EQ(state, State::kFailed) << start;
    EXPECT_EQ(reader.error().status, status) << start;
    EXPECT_EQ(memory.budget.used(), Bytes(0));
  }
}

TEST(RequestReader, FieldsAndNamesInConnectionAreCounted) {
  const auto status = [](const std::string& fields) {
    RequestReader reader({64 << 10, 100});
    reader.Append("GET / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n");
    return reader.Advance() == State::kFailed ? reader.error().status : 0;
  };
  const auto repeated = [](int times, const std::string& text) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
  };
  EXPECT_EQ(status(repeated(99, "X: y\r\n")), 0);
  EXPECT_EQ(status(repeated(100, "X: y\r\n")), 431);
  EXPECT_EQ(status("Connection: b" + repeated(31, ",b") + "\r\n"), 0);
  EXPECT_EQ(status("Connection: b" + repeated(32, ",b") + "\r\n"), 431);
  EXPECT_EQ(status(repeated(33, "Connection: b\r\n")), 431);
}

TEST(RequestReader, AnEmptyLineBeforeARequestIsNoRequest) {
  RequestReader reader = Small();
  for (const char c : std::string("\r\n")) {
    reader.Append(absl::string_view(&c, 1));
    EXPECT_EQ(reader.Advance(), State::kNeedMore);
  }
  EXPECT_TRUE(reader.Idle());
  reader.Append("GET /a HTTP/1.1\r\nHost: h\r\n\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_EQ(reader.Advance(), State::kDone);
  EXPECT_EQ(reader.Take().target, "/a");
  ASSERT_EQ(reader.Advance(), State::kDone);
  EXPECT_EQ(reader.Take().target, "/b");
}

TEST(RequestReader, TheHeadIsToldBeforeTheBody) {
  RequestReader reader = Small();
  reader.Append("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(reader.Advance(), State::kHeadDone);
  EXPECT_TRUE(reader.head().expects_continue);
  EXPECT_TRUE(reader.InBody());
  EXPECT_EQ(reader.Advance(), State::kNeedMore);
}

}  // namespace
}  // namespace penstock
