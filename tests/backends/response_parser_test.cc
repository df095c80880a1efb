#include "backends/transport/response_parser.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace penstock {
namespace {

namespace http = boost::beast::http;

// The body of an answer that arrives in pieces of `size` bytes; "broken" if it is no HTTP, "cut" if it does not end.
std::string BodyOf(const std::string& wire, size_t size) {
  ResponseParser parser(64 << 10);
  std::string input, body;
  for (size_t at = 0; at < wire.size() && !parser.is_done(); at += size) {
    input += wire.substr(at, size);
    boost::beast::error_code error;
    const size_t used = parser.Parse(input, error);
    if (error && error != http::error::need_more) return "broken";
    body += std::string(parser.body());
    parser.DropBody();
    input.erase(0, used);
  }
  return parser.is_done() ? body : "cut";
}

const std::string kHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST(ResponseParser, ChunksOfOneReadAreJoined) {
  const std::string wire = kHead + "3\r\nabc\r\n2;x=y\r\nde\r\n1\r\nf\r\n0\r\n\r\n";
  for (size_t size = 1; size <= wire.size(); ++size) EXPECT_EQ(BodyOf(wire, size), "abcdef") << size;
}

TEST(ResponseParser, AnEmptyChunkedBodyMayComeInAnyPieces) {
  for (const std::string& end : {std::string("0\r\n\r\n"), std::string("000\r\nX-Trailer: 1\r\n\r\n")}) {
    for (size_t size = 1; size <= kHead.size() + end.size(); ++size) EXPECT_EQ(BodyOf(kHead + end, size), "") << size;
  }
}

// Beast asserts some of its own rules. No bytes of a peer may break them, however they come.
TEST(ResponseParser, BytesChangedAtRandomInAnyPiecesEndNoProcess) {
  const std::string whole = kHead + "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX: 1\r\n\r\n";
  const std::string empty = kHead + "0\r\n\r\n";
  const std::string alphabet = "0123fx;=:\r\n\r\n\r\n \"a";
  std::mt19937_64 random(5);
  for (int round = 0; round < 30'000; ++round) {
    std::string wire = round % 2 == 0 ? whole : empty;
    for (uint64_t edits = random() % 4; edits > 0; --edits) {
      const size_t at = kHead.size() - 2 + random() % (wire.size() - kHead.size() + 2);
      const char c = alphabet[random() % alphabet.size()];
      if (random() % 3 == 0 && wire.size() > kHead.size() + 2) {
        wire.erase(at, 1);
      } else if (random() % 2 == 0) {
        wire.insert(at, 1, c);
      } else {
        wire[at] = c;
      }
    }
    BodyOf(wire, 1 + random() % 7);
  }
}

TEST(ResponseParser, AKeptBodyOutlivesTheInput) {
  ResponseParser parser(64 << 10);
  std::string input = kHead + "3\r\nabc\r\n";
  boost::beast::error_code error;
  const size_t used = parser.Parse(input, error);
  parser.KeepBody();
  input = std::string(input.size(), ' ') + std::to_string(used);
  EXPECT_EQ(parser.body(), "abc");
}

TEST(ResponseParser, ABrokenChunkIsNoHttp) { EXPECT_EQ(BodyOf(kHead + "zz\r\nabc", 7), "broken"); }

}  // namespace
}  // namespace penstock
