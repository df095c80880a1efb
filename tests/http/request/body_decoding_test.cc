#include "router/http/body_decoding.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <memory>
#include <string>

#include "router/fleet/fleet_book.h"
#include "tests/session/memory_client.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

std::string Gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// Decodes 16 MiB of zeros and counts the turns of the loop. The client leaves after `stays` of them.
struct Decoding {
  explicit Decoding(int stays) {
    loop.PostFleet(std::make_shared<const FleetView>(FleetBook(Config())), [] {});
    loop.io().poll();
    const std::string coded = Gzip(std::string(16 << 20, '\0'));
    request.headers.Add("content-encoding", "gzip");
    request.body.Reserve(coded.size());
    request.body.Append(coded);
    const auto decode = [this]() -> asio::awaitable<void> {
      error = co_await DecodeBody(loop, client, 1, request);
      done = true;
    };
    asio::co_spawn(loop.io(), decode, asio::detached);
    loop.io().restart();
    for (turns = 0; !done; ++turns) {
      if (turns == stays) client.Go();
      if (loop.io().poll_one() == 0) loop.io().restart();
    }
  }

  Edge edge;
  EventLoop loop{0, edge};
  MemoryClient client;
  ClientRequest request;
  std::optional<ApiError> error;
  bool done = false;
  int turns = 0;
};

TEST(BodyDecoding, ABodyIsDecodedInSlicesForAClientThatStays) {
  const Decoding decoding(1'000'000);
  EXPECT_FALSE(decoding.error);
  EXPECT_EQ(decoding.request.body.size(), size_t{16} << 20);
  EXPECT_GT(decoding.turns, 100);
}

TEST(BodyDecoding, NothingMoreIsDecodedForAClientThatLeft) {
  const Decoding decoding(10);
  EXPECT_LE(decoding.turns, 13);
  EXPECT_FALSE(decoding.error);
  EXPECT_EQ(decoding.edge.bodies.used(), Bytes(0)) << "its memory is given back";
}

}  // namespace
}  // namespace penstock
