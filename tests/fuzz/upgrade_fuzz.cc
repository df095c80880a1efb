// Any fields may come with a handshake. One that passes gives the engine exactly one of each field of the handshake,
// and no key among the protocols.
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "router/openai/request/header_rules.h"
#include "router/realtime/upgrade.h"
#include "tests/fuzz/expect.h"

// Each line is a field: NAME:VALUE.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  penstock::HeaderList client;
  for (const absl::string_view line : absl::StrSplit(bytes, '\n')) {
    const size_t colon = line.find(':');
    if (colon == absl::string_view::npos || colon == 0) continue;
    client.Add(line.substr(0, colon), line.substr(colon + 1));
  }
  const std::string key = penstock::KeyAmongProtocols(client);
  const auto error = penstock::CheckUpgrade(client, size % 2 == 1);
  if (error) {
    Expect(error->status == 400 || error->status == 426, "a fault has a status of its own");
    return 0;
  }
  penstock::HeaderList engine;
  penstock::AddUpgrade(client, engine);
  Expect(penstock::FindHeader(engine, "sec-websocket-key").size() == 24, "a key has its length");
  int versions = 0;
  int keys = 0;
  for (const auto [name, value] : engine) {
    versions += name == "sec-websocket-version" ? 1 : 0;
    keys += name == "sec-websocket-key" ? 1 : 0;
    if (name == "sec-websocket-protocol") {
      Expect(!absl::StrContains(value, "openai-insecure-api-key."), "no key among the protocols");
    }
  }
  Expect(versions == 1 && keys == 1, "one of each");
  Expect(!penstock::CheckUpgrade(engine, false).has_value(), "an engine gets a good handshake");
  return 0;
}
