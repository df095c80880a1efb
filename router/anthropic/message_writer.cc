#include "router/anthropic/message_writer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "backends/dialect/finish_reason.h"
#include "backends/dialect/messages/message_events.h"
#include "backends/dialect/usage_reader.h"
#include "base/json_string.h"

namespace penstock::anthropic {
namespace {

// Anthropic counts the cached part of a prompt apart.
std::string UsageJson(const Usage& usage) {
  const Tokens cached = std::clamp(usage.cached, Tokens(0), usage.prompt);
  return absl::StrCat("{\"input_tokens\":", (usage.prompt - cached).value(),
                      ",\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":", cached.value(),
                      ",\"output_tokens\":", usage.output.value(), "}");
}

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

// A string with its quotes.
bool TakeQuoted(JsonScanner& scanner, absl::string_view* out) {
  return scanner.Peek() == '"' ? scanner.TakeRaw(out) : scanner.Skip();
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

bool ReadChoice(JsonScanner& scanner, ChatPiece* piece) {
  return scanner.ForEachMember([&](absl::string_view key) {
    if (key == "delta" || key == "message") return ReadDelta(scanner, piece);
    if (key == "finish_reason") return scanner.CopyString(&piece->finish);
    return key == "stop_reason" ? TakeQuoted(scanner, &piece->stop) : scanner.Skip();
  });
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
  return scanner.WholeObject([&](absl::string_view key) {
    if (key == "id") return TakeQuoted(scanner, &piece->id);
    if (key == "model") return TakeQuoted(scanner, &piece->model);
    if (key == "choices") return scanner.ForEachElement([&] { return ReadChoice(scanner, piece); });
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

void MessageWriter::TakeEvent(const SseSplitter::Event& event) {
  const absl::string_view data = absl::StripAsciiWhitespace(event.data);
  if (event.comment) return absl::StrAppend(&out_, event.raw);
  if (ended_ || data.empty() || data == "null") return;
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
    if (TakeCall(call)) continue;
    absl::StrAppend(&out_, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":",
                    "\"The engine's calls of tools are mixed up.\"}}\n\n");
    return;
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
                  piece.id.empty() ? "\"msg_0\"" : piece.id,
                  ",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"model\":",
                  piece.model.empty() ? "\"\"" : piece.model,
                  ",\"stop_reason\":null,\"stop_sequence\":null,\"usage\":", UsageJson(usage), "}}\n\n");
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
    const std::string id = call.id.empty() ? absl::StrCat("\"toolu_", block_ + 1, "\"") : call_id_;
    Open(Kind::kTool, absl::StrCat("{\"type\":\"tool_use\",\"id\":", id, ",\"name\":", call.name, ",\"input\":{}}"));
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
                  "},\"usage\":", usage_ ? UsageJson(*usage_) : std::string("{\"output_tokens\":0}"), "}\n\n",
                  kMessageStop);
}

std::optional<std::string> MessageWriter::Whole(absl::string_view body) {
  ChatPiece piece;
  if (!ReadChatPiece(body, &piece) || piece.finish.empty()) return std::nullopt;
  std::string message = absl::StrCat("{\"id\":", piece.id.empty() ? "\"msg_0\"" : piece.id,
                                     ",\"type\":\"message\",\"role\":\"assistant\",\"model\":",
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
  for (const ToolCall& call : piece.calls) {
    std::string input;
    if (call.object) {
      input = std::string(call.arguments);
    } else if (!AppendUnescaped(call.arguments, &input)) {
      return std::nullopt;
    }
    if (absl::StripAsciiWhitespace(input).empty()) input = "{}";
    if (call.name.empty() || !IsObject(input)) return std::nullopt;
    const std::string id = call.id.empty() ? absl::StrCat("\"toolu_", call.index, "\"") : std::string(call.id);
    absl::StrAppend(&message, before, "{\"type\":\"tool_use\",\"id\":", id, ",\"name\":", call.name,
                    ",\"input\":", input, "}");
    before = ",";
  }
  return absl::StrCat(message, "],", ReasonJson(piece.finish, piece.stop, !piece.calls.empty()),
                      ",\"usage\":", UsageJson(piece.usage.value_or(Usage{Tokens(0), Tokens(0), Tokens(0)})), "}");
}

}  // namespace penstock::anthropic
