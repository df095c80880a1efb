#include "router/anthropic/chat_piece.h"

#include <utility>

#include "backends/dialect/assembly/answer_bounds.h"
#include "backends/dialect/assembly/content_parts.h"
#include "backends/dialect/json_scanner.h"
#include "backends/dialect/usage_reader.h"

namespace penstock::anthropic {
namespace {

// The inside of a string, or null. Any other value would be lost.
bool TakeInside(JsonScanner& scanner, absl::string_view* out) {
  if (scanner.Peek() == '"') return scanner.TakeString(out);
  return scanner.Peek() == 'n' && scanner.Skip();
}

// Some engines give the object itself instead of its text.
bool TakeArguments(JsonScanner& scanner, ToolCall* call) {
  call->object = scanner.Peek() == '{';
  return call->object ? scanner.TakeRaw(&call->arguments) : TakeInside(scanner, &call->arguments);
}

bool TakeContent(JsonScanner& scanner, ChatPiece* piece) {
  piece->text = absl::string_view();
  piece->more_text.clear();
  return ForEachContentText(scanner, [piece](absl::string_view text) {
    if (piece->text.empty()) {
      piece->text = text;
    } else {
      piece->more_text.push_back(text);
    }
  });
}

// A string with its quotes, unless it is empty.
bool TakeQuoted(JsonScanner& scanner, absl::string_view* out) {
  if (scanner.Peek() != '"') return scanner.Skip();
  if (!scanner.TakeRaw(out)) return false;
  if (*out == "\"\"") *out = absl::string_view();
  return true;
}

bool ReadCall(JsonScanner& scanner, ChatPiece* piece) {
  if (piece->calls.size() >= kMostListed) return false;
  ToolCall call;
  call.index = static_cast<int64_t>(piece->calls.size());
  const bool json = scanner.ForEachMember([&](absl::string_view key) {
    if (key == "index") return scanner.CopyInt(&call.index);
    if (key == "id") return TakeQuoted(scanner, &call.id);
    if (key != "function") return scanner.Skip();
    return scanner.ForEachMember([&](absl::string_view member) {
      if (member == "name") return TakeQuoted(scanner, &call.name);
      return member == "arguments" ? TakeArguments(scanner, &call) : scanner.Skip();
    });
  });
  piece->calls.push_back(call);
  return json;
}

// A delta, or the message of a whole chat.
bool ReadDelta(JsonScanner& scanner, ChatPiece* piece) {
  return scanner.ForEachMember([&](absl::string_view key) {
    if (key == "content") return TakeContent(scanner, piece);
    if (key == "reasoning_content" || key == "reasoning") {
      return piece->thinking.empty() ? TakeInside(scanner, &piece->thinking) : scanner.Skip();
    }
    if (key == "refusal" && scanner.Peek() == '"') return scanner.TakeString(&piece->refusal);
    if (key == "tool_calls") return scanner.ForEachElement([&] { return ReadCall(scanner, piece); });
    return scanner.Skip();
  });
}

// A message has one choice; an engine that gives more has others for itself.
bool ReadChoice(JsonScanner& scanner, int64_t place, ChatPiece* piece) {
  if (place >= static_cast<int64_t>(kMostListed)) return false;
  ChatPiece choice;
  choice.chosen = scanner.Peek() == '{';
  int64_t index = place;
  const bool json = scanner.ForEachMember([&](absl::string_view key) {
    if (key == "index") return scanner.CopyInt(&index);
    if (key == "delta" || key == "message") return ReadDelta(scanner, &choice);
    if (key == "finish_reason") return scanner.CopyString(&choice.finish);
    return key == "stop_reason" ? TakeQuoted(scanner, &choice.stop) : scanner.Skip();
  });
  if (index != 0) return json;
  piece->chosen |= choice.chosen;
  piece->text = choice.text;
  piece->more_text = std::move(choice.more_text);
  piece->refusal = choice.refusal;
  piece->thinking = choice.thinking;
  piece->calls = std::move(choice.calls);
  piece->finish = std::move(choice.finish);
  piece->stop = choice.stop;
  return json;
}

}  // namespace

bool ReadChatPiece(absl::string_view json, ChatPiece* piece) {
  JsonScanner scanner(json);
  int64_t place = 0;
  return scanner.WholeObject([&](absl::string_view key) {
    if (key == "id") return TakeQuoted(scanner, &piece->id);
    if (key == "model") return TakeQuoted(scanner, &piece->model);
    if (key == "choices") return scanner.ForEachElement([&] { return ReadChoice(scanner, place++, piece); });
    if (key == "usage") return ReadUsage(scanner, &piece->usage);
    if (key == "error") piece->error |= scanner.Peek() != 'n';
    return scanner.Skip();
  });
}

}  // namespace penstock::anthropic
