// A client may do anything with its connection, at any time: send requests and nonsense in pieces, read or not read,
// leave half or whole. The bytes are a list of such acts. One turn of the loop serves a few requests of one client at
// most.
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "tests/fuzz/connection_world.h"

namespace penstock::fuzz {
namespace {

void Act(Client& client, Script& script, bool& reading) {
  switch (script.Byte() % 8) {
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
    default:
      return script.Byte() % 4 == 0 ? client.Close() : client.HalfClose();
  }
}

}  // namespace
}  // namespace penstock::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace penstock::fuzz;
  static World& world = *new World();
  Script script(absl::string_view(reinterpret_cast<const char*>(data), size));
  const uint8_t flags = script.Byte();
  world.orders.hold = (flags & 8) != 0;
  Client client(world, flags);
  bool reading = true;
  while (!script.over()) Act(client, script, reading);
  return 0;
}
