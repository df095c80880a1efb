#include "backends/dialect/messages/message_events.h"

#include <simdjson.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "backends/dialect/finish_reason.h"
#include "backends/dialect/json_scanner.h"
#include "backends/dialect/usage_reader.h"
#include "base/json_string.h"

namespace penstock {
namespace {

struct Scan {
  std::string type;
  bool error_found = false;
  StreamFacts facts;
};

// A text that is no part of the answer's own.
bool SeeOtherText(JsonScanner& scanner, StreamFacts* facts) {
  if (scanner.Peek() != '"') return scanner.Skip();
  absl::string_view text;
  if (!scanner.TakeString(&text)) return false;
  facts->has_text |= !text.empty();
  facts->other_text |= !text.empty();
  return true;
}

bool SeeText(JsonScanner& scanner, StreamFacts* facts) {
  if (scanner.Peek() != '"') return scanner.Skip();
  absl::string_view text;
  // The text may become part of another engine's prompt.
  if (!scanner.TakeString(&text) || !EscapesAreWhole(text)) return false;
  facts->has_text |= !text.empty();
  // A prompt takes the first text only.
  facts->other_text |= !facts->content.empty() && !text.empty();
  if (facts->content.empty()) facts->content = text;
  return true;
}

// Blocks and deltas of another kind are more than text, also where they are empty.
bool SeeKind(JsonScanner& scanner, absl::string_view text_kind, StreamFacts* facts) {
  std::string kind;
  if (!scanner.CopyString(&kind)) return false;
  facts->other_text |= kind != text_kind;
  return true;
}

// A delta of a block, or of the message as a whole.
bool ScanDelta(JsonScanner& scanner, StreamFacts* facts) {
  bool text_seen = false;
  return scanner.ForEachMember([&](absl::string_view key) {
    if (key == "type") return SeeKind(scanner, "text_delta", facts);
    if (key == "text") {
      // Readers of JSON differ in which of two members with one name they take.
      facts->other_text |= std::exchange(text_seen, true);
      return SeeText(scanner, facts);
    }
    if (key == "thinking" || key == "partial_json") return SeeOtherText(scanner, facts);
    if (key != "stop_reason") return scanner.Skip();
    std::string reason;
    if (!scanner.CopyString(&reason)) return false;
    facts->finish |= !reason.empty();
    if (!reason.empty()) facts->finish_reason = std::string(OpenAiReason(reason));
    return true;
  });
}

// The beginning of a block. The name of a tool is text that the engine generated.
bool ScanBlock(JsonScanner& scanner, StreamFacts* facts) {
  return scanner.ForEachMember([&](absl::string_view key) {
    if (key == "type") return SeeKind(scanner, "text", facts);
    const bool text = key == "text" || key == "thinking" || key == "name";
    return text ? SeeOtherText(scanner, facts) : scanner.Skip();
  });
}

bool ScanMessage(JsonScanner& scanner, StreamFacts* facts) {
  return scanner.ForEachMember(
      [&](absl::string_view key) { return key == "usage" ? ReadUsage(scanner, &facts->usage) : scanner.Skip(); });
}

bool ScanEvent(absl::string_view data, Scan* scan) {
  JsonScanner scanner(data);
  const bool json = scanner.WholeObject([&](absl::string_view key) {
    if (key == "type") return scanner.CopyString(&scan->type);
    if (key == "delta") return ScanDelta(scanner, &scan->facts);
    if (key == "content_block") return ScanBlock(scanner, &scan->facts);
    if (key == "message") {
      if (!ScanMessage(scanner, &scan->facts)) return false;
      // The opening counts output that has not come yet.
      if (scan->facts.usage) scan->facts.usage->output = Tokens(0);
      return true;
    }
    if (key == "index") return scanner.CopyInt(&scan->facts.block);
    if (key == "usage") return ReadUsage(scanner, &scan->facts.usage);
    if (key == "error") return scan->error_found |= scanner.Peek() != 'n', scanner.Skip();
    return scanner.Skip();
  });
  return json && simdjson::validate_utf8(data.data(), data.size());
}

MessagePart PartOf(absl::string_view type) {
  if (type == "content_block_delta") return MessagePart::kBlockDelta;
  if (type == "content_block_start") return MessagePart::kBlockStart;
  if (type == "content_block_stop") return MessagePart::kBlockStop;
  if (type == "message_start") return MessagePart::kStart;
  return type == "message_delta" ? MessagePart::kEnd : MessagePart::kNone;
}

}  // namespace

// Anthropic counts the cached part of a prompt apart.
std::string MessageUsage(const Usage& usage) {
  const Tokens cached = std::clamp(usage.cached, Tokens(0), usage.prompt);
  return absl::StrCat("{\"input_tokens\":", (usage.prompt - cached).value(),
                      ",\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":", cached.value(),
                      ",\"output_tokens\":", usage.output.value(), "}");
}

std::string OutputUsage(Tokens output) { return absl::StrCat("{\"output_tokens\":", output.value(), "}"); }

StreamFacts ReadMessageEvent(const SseSplitter::Event& event) {
  Scan scan;
  const absl::string_view data = absl::StripAsciiWhitespace(event.data);
  if (event.comment || data.empty()) return scan.facts;
  if (data == "[DONE]") {
    scan.facts.done = true;
    return scan.facts;
  }
  if (!ScanEvent(data, &scan)) {
    StreamFacts malformed;
    malformed.malformed = true;
    return malformed;
  }
  if (scan.error_found || scan.type == "error" || event.name == "error") {
    StreamFacts failed;
    failed.error = ParseEngineError(200, data);
    if (failed.error->type == "overloaded_error") failed.error->status = 503;
    return failed;
  }
  // Events of another dialect name no type.
  if (scan.type.empty()) {
    StreamFacts malformed;
    malformed.malformed = true;
    return malformed;
  }
  scan.facts.nothing = scan.type == "ping";
  const MessagePart part = scan.facts.part = PartOf(scan.type);
  scan.facts.opening = (part == MessagePart::kStart || part == MessagePart::kBlockStart) && !scan.facts.has_text;
  scan.facts.done = scan.type == "message_stop";
  return std::move(scan.facts);
}

}  // namespace penstock
