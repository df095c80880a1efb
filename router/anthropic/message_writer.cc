#include "router/anthropic/message_writer.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/dialect/assembly/content_parts.h"
#include "backends/dialect/assembly/cut_object.h"
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

bool TakeContent(JsonScanner& scanner, ChatPiece* piece) {
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
  piece->more_text = std::move(choice.more_text);
  piece->refusal = choice.refusal;
  piece->thinking = choice.thinking;
  piece->calls = std::move(choice.calls);
  piece->finish = std::move(choice.finish);
  piece->stop = choice.stop;
  return json;
}

// The engine's words about an end, and the two facts beside them that decide its reason.
struct Ending {
  absl::string_view finish;
  absl::string_view stop;
  bool called = false;
  bool refused = false;
};

absl::string_view ReasonOf(const Ending& ending) {
  if (ending.finish != "stop") return AnthropicReason(ending.finish);
  if (!ending.stop.empty()) return "stop_sequence";
  return ending.refused ? "refusal" : ending.called ? "tool_use" : "end_turn";
}

// The reason of the end, and the stop string, as members.
std::string ReasonJson(const Ending& ending) {
  const absl::string_view reason = ReasonOf(ending);
  return absl::StrCat("\"stop_reason\":\"", reason,
                      "\",\"stop_sequence\":", reason == "stop_sequence" ? ending.stop : absl::string_view("null"));
}

// The block of a call in a whole message; empty: the output limit cut its name. None: its arguments are no object.
std::optional<std::string> ToolBlock(const ToolCall& call, absl::string_view id, bool cut) {
  std::string input;
  if (call.object) {
    input = std::string(call.arguments);
  } else if (!AppendUnescaped(call.arguments, &input)) {
    return std::nullopt;
  }
  if (absl::StripAsciiWhitespace(input).empty()) input = "{}";
  if (cut) input = WholeMembers(input);
  if (call.name.empty() && cut) return std::string();
  if (call.name.empty() || !IsJsonObject(input)) return std::nullopt;
  return absl::StrCat("{\"type\":\"tool_use\",\"id\":", id, ",\"name\":", call.name, ",\"input\":", input, "}");
}

std::string TextBlock(absl::string_view text) { return absl::StrCat("{\"type\":\"text\",\"text\":\"", text, "\"}"); }

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
  if (ended_ || mixed_up_ || unreadable_ || data.empty() || data == "null") return;
  if (data == "[DONE]") return begun_ ? End() : absl::StrAppend(&out_, event.raw);
  ChatPiece piece;
  const bool json = ReadChatPiece(data, &piece);
  unreadable_ = event.garbled || (!json && event.name != "error");
  if (unreadable_) return;
  // The reader of messages names the fault.
  if (!json || piece.error || event.name == "error") {
    return absl::StrAppend(&out_, "event: error\ndata: ", data, "\n\n");
  }
  if (!begun_) Begin(piece);
  if (!piece.thinking.empty()) {
    Open(Kind::kThinking, R"({"type":"thinking","thinking":"","signature":""})");
    Delta("thinking_delta", "thinking", piece.thinking);
  }
  TakeText(piece.text);
  for (const absl::string_view text : piece.more_text) TakeText(text);
  TakeText(piece.refusal);
  refused_ |= !piece.refusal.empty();
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

void MessageWriter::TakeText(absl::string_view text) {
  if (text.empty()) return;
  Open(Kind::kText, TextBlock(""));
  Delta("text_delta", "text", text);
}

bool MessageWriter::TakeCall(const ToolCall& call) {
  // Some engines give all calls the same index: a new id with a name begins another call.
  const bool another = !call.id.empty() && !call.name.empty() && call.id != call_id_;
  if (another || call.index != call_ || open_ != Kind::kTool) {
    if (call.name.empty() || (call_ && call.index < *call_) || (call.index == call_ && !another)) return false;
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
                  ReasonJson({finish_, stop_, call_.has_value(), refused_}),
                  "},\"usage\":", usage_ ? MessageUsage(*usage_) : OutputUsage(Tokens(0)), "}\n\n", kMessageStop);
}

std::optional<std::string> MessageWriter::Whole(absl::string_view body) const {
  ChatPiece piece;
  if (!ReadChatPiece(body, &piece) || piece.finish.empty()) return std::nullopt;
  std::string message =
      absl::StrCat("{\"id\":", OwnOr(piece.id, "msg_", 0), ",\"type\":\"message\",\"role\":\"assistant\",\"model\":",
                   piece.model.empty() ? "\"\"" : piece.model, ",\"content\":[");
  std::vector<std::string> blocks;
  if (!piece.thinking.empty()) {
    blocks.push_back(absl::StrCat("{\"type\":\"thinking\",\"thinking\":\"", piece.thinking, "\",\"signature\":\"\"}"));
  }
  const std::string text = absl::StrCat(piece.text, absl::StrJoin(piece.more_text, ""));
  for (const absl::string_view block : {absl::string_view(text), piece.refusal}) {
    if (!block.empty()) blocks.push_back(TextBlock(block));
  }
  for (size_t i = 0; i < piece.calls.size(); ++i) {
    const ToolCall& call = piece.calls[i];
    auto block = ToolBlock(call, OwnOr(call.id, "toolu_", i), piece.finish == "length");
    if (!block) return std::nullopt;
    if (!block->empty()) blocks.push_back(*std::move(block));
  }
  const Ending ending{piece.finish, piece.stop, !piece.calls.empty(), !piece.refusal.empty()};
  return absl::StrCat(message, absl::StrJoin(blocks, ","), "],", ReasonJson(ending),
                      ",\"usage\":", MessageUsage(piece.usage.value_or(Usage{Tokens(0), Tokens(0), Tokens(0)})), "}");
}

}  // namespace penstock::anthropic
