// Any bytes, in pieces of any size, as the stream of an engine. What reaches the client is part of what came, in order;
// pieces of another size make no difference; a continued answer stays well-formed. The first byte chooses the size of
// the pieces, the second the endpoint and what is asked.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "router/openai/answer/stream_relay.h"
#include "tests/fuzz/expect.h"

namespace {

using penstock::Endpoint;
using penstock::StreamRelay;

struct Relayed {
  std::string to_client;
  StreamRelay::Result result = StreamRelay::Result::kGoOn;
  int64_t generated = 0;
};

// Nothing may be fed after these.
bool IsOver(StreamRelay::Result result) {
  return result == StreamRelay::Result::kError || result == StreamRelay::Result::kMalformed ||
         result == StreamRelay::Result::kEmpty;
}

struct Mode {
  Endpoint endpoint = Endpoint::kChat;
  bool asks_usage = false;
  bool keep_text = false;
  bool continued = false;
  bool reassembled = false;
};

Relayed Relay(absl::string_view bytes, size_t piece, const Mode& mode) {
  penstock::RequestFacts facts;
  facts.asks_usage = mode.asks_usage;
  penstock::ByteBudget budget;
  penstock::RelayState state;
  if (mode.keep_text || mode.continued) state.text = penstock::DeliveredText(budget, {});
  if (mode.continued) {
    state.delivered = 3;
    state.text.Append("so far");
    penstock::StreamFacts opening;
    opening.part = penstock::MessagePart::kBlockStart;
    state.shown.message.OnPassed(opening);
    state.Restart(/*keep_delivered=*/true, /*trimmed=*/false);
  }
  StreamRelay relay(mode.endpoint, facts, state,
                    mode.reassembled ? std::optional<size_t>(size_t{64} << 20) : std::nullopt);
  Relayed relayed;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    relayed.result = relay.Feed(bytes.substr(at, piece), penstock::Instant::FromSeconds(1));
    for (absl::string_view part : relay.pieces()) relayed.to_client.append(part.data(), part.size());
    while (relayed.result == StreamRelay::Result::kLong) {
      auto event = relay.TakeLong();
      event->Read();
      relayed.result = relay.Resume(std::move(event), penstock::Instant::FromSeconds(1));
      for (absl::string_view part : relay.pieces()) relayed.to_client.append(part.data(), part.size());
    }
    if (IsOver(relayed.result)) break;
  }
  if (mode.reassembled && relay.finished()) relay.Assembled().IgnoreError();
  relayed.generated = state.generated();
  return relayed;
}

bool IsPartOf(const std::string& some, absl::string_view all) {
  size_t at = 0;
  for (char c : all) {
    if (at < some.size() && some[at] == c) ++at;
  }
  return at == some.size();
}

bool LinesArePartOf(const std::string& some, absl::string_view all) {
  const std::vector<std::string> lines = absl::StrSplit(some, '\n');
  return std::all_of(lines.begin(), lines.end(), [all](const std::string& line) { return IsPartOf(line, all); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  constexpr Endpoint kEndpoints[] = {Endpoint::kChat, Endpoint::kCompletions, Endpoint::kResponses};
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  Mode mode;
  mode.endpoint = data[1] < 192 ? kEndpoints[data[1] % 3] : Endpoint::kMessages;
  mode.asks_usage = (data[1] & 4) != 0;
  mode.keep_text = (data[1] & 8) != 0;
  mode.continued = (data[1] & 16) != 0 && StreamsText(mode.endpoint);
  mode.reassembled = (data[1] & 32) != 0 && !mode.continued && mode.endpoint != Endpoint::kMessages;
  const Relayed whole = Relay(bytes, bytes.size() + 1, mode);
  const Relayed pieces = Relay(bytes, 1 + data[0], mode);
  Expect(whole.generated == pieces.generated, "tokens are counted alike in pieces of any size");
  if (!IsOver(pieces.result)) Expect(whole.to_client == pieces.to_client, "pieces of any size make the same stream");
  // A fingerprint moves from the usage that this client does not get.
  const bool moves = !mode.asks_usage && absl::StrContains(bytes, "system_fingerprint");
  if (!mode.continued && !moves) {
    // The event that ends a choice is held, and goes behind what an engine sends after it.
    const bool held = absl::StrContains(bytes, "finish_reason");
    Expect(held ? LinesArePartOf(whole.to_client, bytes) : IsPartOf(whole.to_client, bytes),
           "nothing is added to a stream");
  }
  Expect(!mode.reassembled || whole.to_client.empty(), "a reassembled answer is not streamed");
  return 0;
}
