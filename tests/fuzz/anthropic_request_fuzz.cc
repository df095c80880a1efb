// Requests of Anthropic's dialect: a translation is JSON, and slices make no difference. The same bytes are the stream
// of a chat too: pieces of any size make the same events. They are also a whole chat: its message is JSON. The first
// byte chooses the size of slices and pieces.
#include <cstddef>
#include <cstdint>
#include <string>

#include "backends/dialect/json_scanner.h"
#include "router/anthropic/chat_request.h"
#include "router/anthropic/message_writer.h"
#include "tests/fuzz/expect.h"

namespace {

using namespace penstock::anthropic;

bool IsObject(absl::string_view text) {
  penstock::JsonScanner scanner(text);
  return scanner.WholeObject([&scanner](absl::string_view) { return scanner.Skip(); });
}

// Empty: it is refused.
std::string AsChat(absl::string_view body, size_t slice, bool continued) {
  ChatOrder order{"m", continued, continued, std::nullopt, 0};
  if (continued) order.continue_from = "so far";
  ChatRequest chat(body, order);
  while (!chat.Advance(slice)) continue;
  std::string text;
  if (chat.error()) return text;
  for (const absl::string_view piece : chat.Pieces()) text.append(piece.data(), piece.size());
  return text;
}

std::string AsMessage(absl::string_view stream, size_t piece) {
  MessageWriter writer(1);
  std::string events;
  const auto add = [&events](absl::string_view more) { events.append(more.data(), more.size()); };
  for (size_t at = 0; at < stream.size(); at += piece) add(writer.Take(stream.substr(at, piece)));
  add(writer.Finish());
  return events;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t slice = 1 + data[0] % 64;
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  for (const bool continued : {false, true}) {
    const std::string whole = AsChat(bytes, size, continued);
    Expect(whole == AsChat(bytes, slice, continued), "slices make no difference");
    Expect(whole.empty() || IsObject(whole), "a translation is JSON");
  }
  Expect(AsMessage(bytes, size) == AsMessage(bytes, slice), "pieces of any size make the same message");
  const std::optional<std::string> message = MessageWriter(1).Whole(bytes);
  Expect(!message || IsObject(*message), "a message is JSON");
  return 0;
}
