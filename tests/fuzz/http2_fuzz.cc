// A client of HTTP/2 may send any frame at any time, whole or broken, with and without windows for the answers. The
// bytes are a list of such acts, on a whole connection of the router.
#include <array>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "router/http/http2/session.h"
#include "tests/fuzz/connection_world.h"

namespace penstock::fuzz {
namespace {

std::string Frame(uint8_t kind, uint8_t flags, uint32_t stream, absl::string_view payload) {
  std::string frame;
  for (const size_t shift : {16, 8, 0}) frame += static_cast<char>(payload.size() >> shift & 0xff);
  frame += static_cast<char>(kind);
  frame += static_cast<char>(flags);
  for (const size_t shift : {24, 16, 8, 0}) frame += static_cast<char>(stream >> shift & 0xff);
  return absl::StrCat(frame, payload);
}

std::string Literal(absl::string_view name, absl::string_view value) {
  return absl::StrCat(std::string(1, '\0'), std::string(1, static_cast<char>(name.size())), name,
                      std::string(1, static_cast<char>(value.size())), value);
}

std::string HeadOf(absl::string_view method, absl::string_view path) {
  return absl::StrCat(Literal(":method", method), Literal(":path", path), Literal(":scheme", "http"),
                      Literal(":authority", "p"), Literal("content-type", "application/json"));
}

void Act(Client& client, Script& script, bool& reading) {
  constexpr std::array<absl::string_view, 6> kPaths = {
      "/v1/chat/completions", "/v1/models", "/healthz", "/metrics", "/v1/files", "/nothing"};
  const uint8_t act = script.Byte() % 10;
  const uint32_t stream = script.Byte();
  switch (act) {
    case 0:
      return client.Send(script.Some(1 + size_t{script.Byte()}));
    case 1:
    case 2: {
      const uint8_t kind = script.Byte() % 12;
      const uint8_t flags = script.Byte();
      return client.Send(Frame(kind, flags, stream, script.Some(script.Byte())));
    }
    case 3:
    case 4: {
      const bool post = (script.Byte() & 1) != 0;
      const uint8_t flags = script.Byte() & 5;
      const absl::string_view path = kPaths[script.Byte() % kPaths.size()];
      return client.Send(Frame(1, flags, stream | 1,
                               absl::StrCat(HeadOf(post ? "POST" : "GET", path), script.Some(script.Byte() % 32))));
    }
    case 5: {
      const uint8_t kind = script.Byte() % 12;
      const uint8_t flags = script.Byte() & 1;
      const std::string repeated = Frame(kind, flags, stream, script.Some(script.Byte() % 16));
      for (int i = 0; i < 64; ++i) client.Send(repeated);
      return;
    }
    case 6: {
      const uint8_t flags = script.Byte() & 1;
      return client.Send(Frame(0, flags, stream | 1, std::string(size_t{16} * script.Byte(), '{')));
    }
    case 7:
      while (client.Turn(reading)) continue;
      return;
    case 8:
      client.Turn(reading);
      reading = script.Byte() % 4 != 0;
      return;
    default:
      return stream % 8 == 0 ? client.Close() : stream % 8 == 1 ? client.HalfClose() : void();
  }
}

}  // namespace
}  // namespace penstock::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace penstock::fuzz;
  static World& world = *new World();
  Script script(absl::string_view(reinterpret_cast<const char*>(data), size));
  const uint8_t flags = script.Byte() & 0xb;  // No PROXY header.
  world.orders.hold = (flags & 8) != 0;
  Client client(world, flags);
  client.Send(penstock::http2::kPreface);
  client.Send(Frame(4, 0, 0, ""));
  bool reading = true;
  while (!script.over()) Act(client, script, reading);
  return 0;
}
