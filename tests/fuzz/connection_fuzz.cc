// A client may do anything with its connection, at any time. It sends requests and nonsense in pieces, stops to read,
// stands still, and leaves half, whole or with a reset. An engine may answer with any bytes, and break off. The fleet
// is loaded anew, its engine is lost or goes down. The bytes are a list of such acts. They meet the router's own
// connection code, on one loop that this file turns by hand. After each connection, no memory, count or coroutine of it
// is left. One turn of the loop serves a few requests of one client at most.
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "tests/fuzz/connection_world.h"

namespace penstock::fuzz {
namespace {

// An engine ends its connection, or sends bytes, at times behind the beginning of a sound answer.
void ActOfEngine(Engine& engine, Script& script) {
  constexpr absl::string_view kStream =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
  switch (script.Byte() % 4) {
    case 0:
      return engine.End(script.Byte() % 2 == 0);
    case 1:
      engine.Send(kStream);
      [[fallthrough]];
    default:
      return engine.Send(script.Some(1 + size_t{script.Byte()}));
  }
}

void Leave(Client& client, Script& script) {
  switch (script.Byte() % 4) {
    case 0:
      return client.Close();
    case 1:
      return client.Reset();
    default:
      return client.HalfClose();
  }
}

void Act(World& world, Client& client, Script& script, bool& reading) {
  switch (script.Byte() % 10) {
    case 0:
    case 1:
      return client.Send(script.Some(1 + size_t{script.Byte()}));
    case 2:
      return client.Send(script.Some(16 * (1 + size_t{script.Byte()})));
    case 3: {
      const std::string repeated(script.Some(1 + size_t{script.Byte()} % 64));
      for (int i = 0; i < 64; ++i) client.Send(repeated);
      return;
    }
    case 4:
      while (client.Turn(reading)) continue;
      return;
    case 5:
      client.Turn(reading);
      return;
    case 6:
      reading = !reading;
      return;
    case 7:
      return Leave(client, script);
    case 8:
      return ActOfEngine(world.engine, script);
    default: {
      const uint8_t what = script.Byte();
      if (what % 4 == 0) return client.Stall();
      if (what % 4 == 1) world.Disturb(what / 4);
      return;
    }
  }
}

}  // namespace
}  // namespace penstock::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace penstock::fuzz;
  static World& world = *new World();
  world.Begin();
  Script script(absl::string_view(reinterpret_cast<const char*>(data), size));
  const uint8_t flags = script.Byte();
  world.orders.hold = (flags & 8) != 0;
  Client client(world, flags);
  bool reading = true;
  while (!script.over()) Act(world, client, script, reading);
  return 0;
}
