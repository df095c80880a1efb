#include "router/anthropic/message_writer.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "backends/dialect/assembly/answer_bounds.h"
#include "backends/dialect/assembly/cut_object.h"
#include "backends/dialect/finish_reason.h"
#include "backends/dialect/messages/message_events.h"
#include "base/json_string.h"

namespace penstock::anthropic {
namespace {

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

// The block of a call in a whole message; empty: the output limit cut its name. None: it has no name. Models may write
// arguments that are no object, and clients may ask for them: these are a text in an object.
std::optional<std::string> ToolBlock(const ToolCall& call, absl::string_view id, bool cut) {
  std::string input;
  const bool readable = call.object || AppendUnescaped(call.arguments, &input);
  if (call.object) input = std::string(call.arguments);
  if (readable && absl::StripAsciiWhitespace(input).empty()) input = "{}";
  if (readable && cut) input = WholeMembers(input);
  if (call.name.empty()) return cut ? std::optional<std::string>("") : std::nullopt;
  if (!readable || !IsJsonObject(input)) input = absl::StrCat("{\"arguments\":\"", call.arguments, "\"}");
  return absl::StrCat("{\"type\":\"tool_use\",\"id\":", id, ",\"name\":", call.name, ",\"input\":", input, "}");
}

// The usage with zero for each impossible count.
Usage Possible(Usage usage, bool* impossible) {
  for (Tokens* count : {&usage.prompt, &usage.output}) {
    if (*count <= Tokens(kMostReported)) continue;
    *count = Tokens(0);
    *impossible = true;
  }
  return usage;
}

std::string TextBlock(absl::string_view text) { return absl::StrCat("{\"type\":\"text\",\"text\":\"", text, "\"}"); }

}  // namespace

absl::string_view MessageWriter::Take(absl::string_view bytes) {
  out_.clear();
  splitter_.Feed(bytes);
  TakeEvents();
  return out_;
}

void MessageWriter::TakeEvents() {
  while (const auto event = splitter_.Next()) {
    if (event->data.size() > SseSplitter::kLong) {
      long_ = event;
      return;
    }
    TakeEvent(*event);
  }
}

void MessageWriter::TakeLong() {
  out_.clear();
  TakeEvent(*std::exchange(long_, std::nullopt));
  TakeEvents();
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
  if (ended_ || fault_ != Fault::kNone || data.empty() || data == "null") return;
  if (data == "[DONE]") return begun_ ? End() : absl::StrAppend(&out_, event.raw);
  ChatPiece piece;
  const bool json = ReadChatPiece(data, &piece);
  if (event.garbled || (!json && event.name != "error")) fault_ = Fault::kUnreadable;
  if (unreadable()) return;
  // The reader of messages names the fault.
  if (!json || piece.error || event.name == "error") {
    // An event of several lines has joined them.
    const std::string line = absl::StrReplaceAll(data, {{"\n", " "}, {"\r", " "}});
    return absl::StrAppend(&out_, "event: error\ndata: ", line, "\n\n");
  }
  TakeFacts(piece);
  // An event without a choice may come first: it has facts about the prompt, or only shows that the engine lives.
  if (!begun_ && !piece.chosen) return;
  if (!begun_) Begin();
  TakeContent(piece);
  if (fault_ != Fault::kNone) return;
  if (!piece.stop.empty()) stop_ = std::string(piece.stop);
  if (!piece.finish.empty()) {
    Close();
    finish_ = std::move(piece.finish);
  }
  if (!finish_.empty() && piece.usage) End();
}

void MessageWriter::TakeContent(const ChatPiece& piece) {
  const size_t before = out_.size();
  if (!piece.thinking.empty()) {
    Open(Kind::kThinking, R"({"type":"thinking","thinking":"","signature":""})");
    Delta("thinking_delta", "thinking", piece.thinking);
  }
  TakeText(piece.text);
  for (const absl::string_view text : piece.more_text) TakeText(text);
  TakeText(piece.refusal);
  refused_ |= !piece.refusal.empty();
  for (const ToolCall& call : piece.calls) {
    fault_ = TakeCall(call);
    if (fault_ != Fault::kNone) return;
  }
  said_.pieces += out_.size() > before ? 1 : 0;
}

void MessageWriter::TakeFacts(const ChatPiece& piece) {
  if (piece.usage) said_.usage = Possible(*piece.usage, &said_.impossible_usage);
  if (begun_) return;
  if (!piece.id.empty()) said_.id = std::string(piece.id);
  if (!piece.model.empty()) said_.model = std::string(piece.model);
}

void MessageWriter::Begin() {
  begun_ = true;
  Usage usage = said_.usage.value_or(Usage{Tokens(0), Tokens(0), Tokens(0)});
  usage.output = Tokens(0);
  absl::StrAppend(&out_, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":",
                  OwnOr(said_.id, "msg_", 0), ",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"model\":",
                  said_.model.empty() ? "\"\"" : said_.model,
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

MessageWriter::Fault MessageWriter::TakeCall(const ToolCall& call) {
  // Some engines give all calls the same index: a new id with a name begins another call.
  const bool another = !call.id.empty() && !call.name.empty() && call.id != calls_.id;
  if (another || call.index != calls_.index || open_ != Kind::kTool) {
    const bool earlier = calls_.index && call.index < *calls_.index;
    if (call.name.empty() || earlier || (call.index == calls_.index && !another)) return Fault::kMixedUp;
    if (calls_.begun == kMostListed) return Fault::kUnreadable;
    ++calls_.begun;
    calls_.index = call.index;
    calls_.id = std::string(call.id);
    Open(Kind::kTool, absl::StrCat("{\"type\":\"tool_use\",\"id\":", OwnOr(call.id, "toolu_", block_ + 1),
                                   ",\"name\":", call.name, ",\"input\":{}}"));
  }
  std::string escaped;
  if (call.object) AppendJsonEscaped(call.arguments, &escaped);
  const absl::string_view arguments = call.object ? absl::string_view(escaped) : call.arguments;
  if (!arguments.empty()) Delta("input_json_delta", "partial_json", arguments);
  return Fault::kNone;
}

void MessageWriter::End() {
  if (std::exchange(ended_, true)) return;
  Close();
  absl::StrAppend(&out_, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{",
                  ReasonJson({finish_, stop_, calls_.begun > 0, refused_}),
                  "},\"usage\":", said_.usage ? MessageUsage(*said_.usage) : OutputUsage(Tokens(said_.pieces)), "}\n\n",
                  kMessageStop);
}

std::optional<std::string> MessageWriter::Whole(absl::string_view body) const {
  ChatPiece piece;
  if (!ReadChatPiece(body, &piece) || piece.finish.empty()) return std::nullopt;
  bool impossible = false;
  const Usage usage = Possible(piece.usage.value_or(Usage{Tokens(0), Tokens(0), Tokens(0)}), &impossible);
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
  return absl::StrCat(message, absl::StrJoin(blocks, ","), "],", ReasonJson(ending), ",\"usage\":", MessageUsage(usage),
                      "}");
}

}  // namespace penstock::anthropic
