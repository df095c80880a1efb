#include "router/anthropic/message_writer.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "backends/dialect/finish_reason.h"
#include "backends/dialect/messages/message_events.h"
#include "backends/dialect/usage_reader.h"
#include "base/json_string.h"

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

// A string with its quotes, unless it is empty.
bool TakeQuoted(JsonScanner& scanner, absl::string_view* out) {
  if (scanner.Peek() != '"') return scanner.Skip();
  if (!scanner.TakeRaw(out)) return false;
  if (*out == "\"\"") *out = absl::string_view();
  return true;
}

bool ReadCall(JsonScanner& scanner, ChatPiece* piece) {
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
    if (key == "content") return TakeInside(scanner, &piece->text);
    if (key == "reasoning_content" || key == "reasoning") {
      return piece->thinking.empty() ? TakeInside(scanner, &piece->thinking) : scanner.Skip();
    }
    if (key == "tool_calls") return scanner.ForEachElement([&] { return ReadCall(scanner, piece); });
    return scanner.Skip();
  });
}

// A message has one choice; an engine that gives more has others for itself.
bool ReadChoice(JsonScanner& scanner, int64_t place, ChatPiece* piece) {
  ChatPiece choice;
  int64_t index = place;
  const bool json = scanner.ForEachMember([&](absl::string_view key) {
    if (key == "index") return scanner.CopyInt(&index);
    if (key == "delta" || key == "message") return ReadDelta(scanner, &choice);
    if (key == "finish_reason") return scanner.CopyString(&choice.finish);
    return key == "stop_reason" ? TakeQuoted(scanner, &choice.stop) : scanner.Skip();
  });
  if (index != 0) return json;
  piece->text = choice.text;
  piece->thinking = choice.thinking;
  piece->calls = std::move(choice.calls);
  piece->finish = std::move(choice.finish);
  piece->stop = choice.stop;
  return json;
}

// The reason of the end, and the stop string, as members.
std::string ReasonJson(absl::string_view finish, absl::string_view stop, bool called) {
  absl::string_view reason = called && finish == "stop" ? "tool_use" : AnthropicReason(finish);
  if (!stop.empty() && finish == "stop") reason = "stop_sequence";
  return absl::StrCat("\"stop_reason\":\"", reason,
                      "\",\"stop_sequence\":", reason == "stop_sequence" ? stop : absl::string_view("null"));
}

bool IsObject(absl::string_view json) {
  JsonScanner scanner(json);
  return scanner.WholeObject([&](absl::string_view) { return scanner.Skip(); });
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

absl::string_view MessageWriter::Take(absl::string_view bytes) {
  out_.clear();
  splitter_.Feed(bytes);
  while (const auto event = splitter_.Next()) TakeEvent(*event);
  return out_;
}

absl::string_view MessageWriter::Finish() {
  out_.clear();
  if (!finish_.empty()) End();
  return out_;
}

std::string MessageWriter::OwnOr(absl::string_view id, absl::string_view prefix, size_t number) const {
  if (!id.empty()) return std::string(id);
  return absl::StrCat("\"", prefix, absl::Hex(unique_, absl::kZeroPad16), "_", number, "\"");
}

void MessageWriter::TakeEvent(const SseSplitter::Event& event) {
  const absl::string_view data = absl::StripAsciiWhitespace(event.data);
  if (event.comment) return absl::StrAppend(&out_, event.raw);
  if (ended_ || mixed_up_ || data.empty() || data == "null") return;
  if (data == "[DONE]") return begun_ ? End() : absl::StrAppend(&out_, event.raw);
  ChatPiece piece;
  const bool json = ReadChatPiece(data, &piece);
  // The reader of messages names the fault.
  if (!json || event.garbled || piece.error || event.name == "error") {
    return absl::StrAppend(&out_, "event: error\ndata: ", data, "\n\n");
  }
  if (!begun_) Begin(piece);
  if (!piece.thinking.empty()) {
    Open(Kind::kThinking, R"({"type":"thinking","thinking":"","signature":""})");
    Delta("thinking_delta", "thinking", piece.thinking);
  }
  if (!piece.text.empty()) {
    Open(Kind::kText, R"({"type":"text","text":""})");
    Delta("text_delta", "text", piece.text);
  }
  for (const ToolCall& call : piece.calls) {
    mixed_up_ = !TakeCall(call);
    if (mixed_up_) return;
  }
  if (!piece.stop.empty()) stop_ = std::string(piece.stop);
  if (piece.usage) usage_ = piece.usage;
  if (!piece.finish.empty()) {
    Close();
    finish_ = std::move(piece.finish);
  }
  if (!finish_.empty() && piece.usage) End();
}

void MessageWriter::Begin(const ChatPiece& piece) {
  begun_ = true;
  Usage usage = piece.usage.value_or(Usage{Tokens(0), Tokens(0), Tokens(0)});
  usage.output = Tokens(0);
  absl::StrAppend(&out_, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":",
                  OwnOr(piece.id, "msg_", 0), ",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"model\":",
                  piece.model.empty() ? "\"\"" : piece.model,
                  ",\"stop_reason\":null,\"stop_sequence\":null,\"usage\":", MessageUsage(usage), "}}\n\n");
}

void MessageWriter::Open(Kind kind, absl::string_view block) {
  if (open_ == kind && kind != Kind::kTool) return;
  Close();
  open_ = kind;
  absl::StrAppend(&out_, "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":", ++block_,
                  ",\"content_block\":", block, "}\n\n");
}

void MessageWriter::Close() {
  if (std::exchange(open_, Kind::kNone) == Kind::kNone) return;
  absl::StrAppend(&out_, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":", block_,
                  "}\n\n");
}

void MessageWriter::Delta(absl::string_view type, absl::string_view member, absl::string_view text) {
  absl::StrAppend(&out_, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":", block_,
                  ",\"delta\":{\"type\":\"", type, "\",\"", member);
  absl::StrAppend(&out_, "\":\"", text, "\"}}\n\n");
}

bool MessageWriter::TakeCall(const ToolCall& call) {
  // Some engines give all calls the same index: a new id with a name begins another call.
  const bool another = !call.id.empty() && !call.name.empty() && call.id != call_id_;
  if (another || call.index != call_ || open_ != Kind::kTool) {
    if (call.name.empty() || call.index < call_ || (call.index == call_ && !another)) return false;
    call_ = call.index;
    call_id_ = std::string(call.id);
    Open(Kind::kTool, absl::StrCat("{\"type\":\"tool_use\",\"id\":", OwnOr(call.id, "toolu_", block_ + 1),
                                   ",\"name\":", call.name, ",\"input\":{}}"));
  }
  std::string escaped;
  if (call.object) AppendJsonEscaped(call.arguments, &escaped);
  const absl::string_view arguments = call.object ? absl::string_view(escaped) : call.arguments;
  if (!arguments.empty()) Delta("input_json_delta", "partial_json", arguments);
  return true;
}

void MessageWriter::End() {
  if (std::exchange(ended_, true)) return;
  Close();
  absl::StrAppend(&out_, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{",
                  ReasonJson(finish_, stop_, call_ >= 0),
                  "},\"usage\":", usage_ ? MessageUsage(*usage_) : OutputUsage(Tokens(0)), "}\n\n", kMessageStop);
}

std::optional<std::string> MessageWriter::Whole(absl::string_view body) const {
  ChatPiece piece;
  if (!ReadChatPiece(body, &piece) || piece.finish.empty()) return std::nullopt;
  std::string message =
      absl::StrCat("{\"id\":", OwnOr(piece.id, "msg_", 0), ",\"type\":\"message\",\"role\":\"assistant\",\"model\":",
                   piece.model.empty() ? "\"\"" : piece.model, ",\"content\":[");
  const char* before = "";
  if (!piece.thinking.empty()) {
    absl::StrAppend(&message, "{\"type\":\"thinking\",\"thinking\":\"", piece.thinking, "\",\"signature\":\"\"}");
    before = ",";
  }
  if (!piece.text.empty()) {
    absl::StrAppend(&message, before, "{\"type\":\"text\",\"text\":\"", piece.text, "\"}");
    before = ",";
  }
  for (size_t i = 0; i < piece.calls.size(); ++i) {
    const ToolCall& call = piece.calls[i];
    std::string input;
    if (call.object) {
      input = std::string(call.arguments);
    } else if (!AppendUnescaped(call.arguments, &input)) {
      return std::nullopt;
    }
    if (absl::StripAsciiWhitespace(input).empty()) input = "{}";
    if (call.name.empty() || !IsObject(input)) return std::nullopt;
    absl::StrAppend(&message, before, "{\"type\":\"tool_use\",\"id\":", OwnOr(call.id, "toolu_", i),
                    ",\"name\":", call.name, ",\"input\":", input, "}");
    before = ",";
  }
  return absl::StrCat(message, "],", ReasonJson(piece.finish, piece.stop, !piece.calls.empty()),
                      ",\"usage\":", MessageUsage(piece.usage.value_or(Usage{Tokens(0), Tokens(0), Tokens(0)})), "}");
}

}  // namespace penstock::anthropic
