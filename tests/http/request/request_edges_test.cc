// Empty lines before requests, and fields that may come once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "router/http/request/request_reader.h"

namespace penstock {
namespace {

using State = RequestReader::State;

const RequestReader::Limits kSmall{2048, 4096};

TEST(RequestEdges, EmptyLinesBeforeEachRequestAreBounded) {
  RequestReader reader(kSmall);
  std::string lines;
  for (int i = 0; i < RequestReader::kMaxEmptyLines; ++i) lines += "\r\n";
  for (const char* target : {"/a", "/b"}) {
    for (const char c : lines) {
      reader.Append(absl::string_view(&c, 1));
      ASSERT_EQ(reader.Advance(), State::kNeedMore);
    }
    EXPECT_TRUE(reader.Idle());
    reader.Append(absl::StrCat("GET ", target, " HTTP/1.1\r\nHost: h\r\n\r\n"));
    ASSERT_EQ(reader.Advance(), State::kDone);
    EXPECT_EQ(reader.Take().target, target);
  }
  reader.Append(lines + "\r\nGET /c HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(reader.Advance(), State::kFailed);
}

TEST(RequestEdges, ALoneCarriageReturnBehindTheLastEmptyLineIsNoEndlessWait) {
  RequestReader reader(kSmall);
  for (int i = 0; i < RequestReader::kMaxEmptyLines; ++i) reader.Append("\r\n");
  EXPECT_EQ(reader.Advance(), State::kNeedMore);
  reader.Append("\rX");
  EXPECT_EQ(reader.Advance(), State::kFailed);
}

TEST(RequestEdges, ARequestHasOneKey) {
  for (const char* keys :
       {"Authorization: Bearer a\r\nauthorization: Bearer b\r\n",
        "Authorization: Bearer a\r\nAuthorization: Bearer a\r\n", "X-API-Key: a\r\nx-api-key: b\r\n"}) {
    RequestReader reader(kSmall);
    reader.Append(absl::StrCat("GET / HTTP/1.1\r\nHost: h\r\n", keys, "\r\n"));
    ASSERT_EQ(reader.Advance(), State::kFailed) << keys;
    EXPECT_EQ(reader.error().status, 400);
  }
}

TEST(RequestEdges, ABodyHasOneCoding) {
  RequestReader reader(kSmall);
  reader.Append("GET / HTTP/1.1\r\nHost: h\r\nContent-Encoding: gzip\r\ncontent-encoding: gzip\r\n\r\n");
  ASSERT_EQ(reader.Advance(), State::kFailed);
  EXPECT_EQ(reader.error().status, 400);
}

// The sizes of the pieces of a body whose bytes come in reads of 64 KiB.
std::vector<size_t> PiecesOf(const std::string& head, const std::string& body) {
  RequestReader::Limits limits{2048, 100};
  limits.body_of = [](const RequestHead& request) { return request.target == "/large" ? 1 << 20 : 100; };
  RequestReader reader(limits);
  reader.Append(head);
  EXPECT_EQ(reader.Advance(), RequestReader::State::kHeadDone);
  reader.UseBody(BodyUse::kPieces);
  std::vector<size_t> sizes;
  std::string all;
  for (size_t at = 0; at < body.size(); at += 64 << 10) {
    const std::string part = body.substr(at, 64 << 10);
    reader.Offer(part);
    const RequestReader::State state = reader.Advance();
    if (state == RequestReader::State::kNeedMore) continue;
    EXPECT_NE(state, RequestReader::State::kFailed);
    sizes.push_back(reader.head().body.size());
    all.append(reader.head().body.view().data(), sizes.back());
    EXPECT_LE(reader.head().body.capacity(), size_t{512} << 10);
  }
  EXPECT_EQ(all.find_first_not_of('x'), std::string::npos);
  EXPECT_EQ(reader.Take().target, "/large");
  EXPECT_TRUE(reader.Idle());
  return sizes;
}

TEST(RequestEdges, ABodyInPiecesHasItsOwnLimitAndTakesBoundedMemory) {
  const std::string head = "POST /large HTTP/1.1\r\nHost: h\r\nContent-Length: 700000\r\n\r\n";
  EXPECT_THAT(PiecesOf(head, std::string(700'000, 'x')),
              ::testing::ElementsAre(192 << 10, 192 << 10, 192 << 10, 700'000 - 3 * (192 << 10)));
  const std::string chunked = "POST /large HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(PiecesOf(chunked, "61A80\r\n" + std::string(0x61A80, 'x') + "\r\n0\r\n\r\n").size(), 2u);
}

TEST(RequestEdges, TheLimitOfABodyIsThatOfItsHead) {
  RequestReader::Limits limits{2048, 100};
  limits.body_of = [](const RequestHead& request) { return request.target == "/large" ? 1 << 20 : 100; };
  RequestReader reader(limits);
  reader.Append("POST /small HTTP/1.1\r\nHost: h\r\nContent-Length: 101\r\n\r\n");
  EXPECT_EQ(reader.Advance(), RequestReader::State::kFailed);
  EXPECT_EQ(reader.error().status, http_status::kContentTooLarge);
}

TEST(RequestEdges, AnErrorNamesTheBoundWithoutTheRoomOfAForm) {
  RequestReader::Limits limits;
  limits.body_of = [](const RequestHead&) { return BodyBound(1000, 500); };
  RequestReader reader(limits);
  reader.Append("POST /v1/files HTTP/1.1\r\nHost: h\r\nContent-Length: 1501\r\n\r\n");
  ASSERT_EQ(reader.Advance(), State::kFailed);
  EXPECT_EQ(reader.error().message, "The request body is larger than 1000 bytes.");
}

}  // namespace
}  // namespace penstock
