#include "backends/dialect/stream_reader.h"

#include <simdjson.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "backends/dialect/json_scanner.h"
#include "backends/dialect/usage_reader.h"
#include "base/json_string.h"

namespace penstock {
namespace {

// The result of one pass over an event, before its meaning is decided.
struct Scan {
  bool choices_empty = false;
  bool choices_seen = false;
  bool has_usage = false;  // An object, whatever its counts.
  bool error_found = false;
  // Events of the responses dialect only.
  std::string type;
  std::string status;  // The status of the response object.
  std::string reason;  // The reason in its incomplete_details.
  std::string error;   // Its error, as JSON.
  StreamFacts facts;
};

// Readers of JSON differ in which of two members with one name they take: nobody knows what the client sees.
void SeeMember(bool* seen, StreamFacts* facts) { facts->other_text |= std::exchange(*seen, true); }

bool IsText(absl::string_view key) {
  return key == "reasoning_content" || key == "reasoning" || key == "refusal" || key == "arguments" || key == "name";
}

void AddText(absl::string_view text, StreamFacts* facts) {
  if (text.empty()) return;
  facts->only_text = facts->has_text ? absl::string_view() : text;
  facts->has_text = true;
}

bool SeeText(JsonScanner& scanner, StreamFacts* facts) {
  if (scanner.Peek() != '"') return scanner.Skip();
  absl::string_view text;
  if (!scanner.TakeString(&text)) return false;
  AddText(text, facts);
  return true;
}

// Content of any other kind goes into no prompt; a list of parts is text.
bool SeeOddContent(JsonScanner& scanner, StreamFacts* facts) {
  const bool list = scanner.Peek() == '[';
  absl::string_view raw;
  if (!scanner.TakeRaw(&raw)) return false;
  if (raw == "null" || raw == "[]") return true;
  facts->other_text = true;
  facts->has_text |= list;
  facts->only_text = absl::string_view();
  return true;
}

bool SeeContent(JsonScanner& scanner, StreamFacts* facts) {
  if (scanner.Peek() != '"') return SeeOddContent(scanner, facts);
  absl::string_view text;
  // The text may become part of another engine's prompt.
  if (!scanner.TakeString(&text) || !EscapesAreWhole(text)) return false;
  // A prompt takes the first text only.
  facts->other_text |= !facts->content.empty() && !text.empty();
  if (facts->content.empty()) facts->content = text;
  AddText(text, facts);
  return true;
}

// A text that is not the content.
bool SeeOtherText(JsonScanner& scanner, StreamFacts* facts) {
  if (scanner.Peek() != '"') return scanner.Skip();
  absl::string_view text;
  if (!scanner.TakeString(&text)) return false;
  facts->other_text |= !text.empty();
  AddText(text, facts);
  return true;
}

bool SeeOther(JsonScanner& scanner, StreamFacts* facts) {
  absl::string_view raw;
  if (!scanner.TakeRaw(&raw)) return false;
  facts->other_text |= raw != "null" && raw != "\"\"" && raw != "[]";
  return true;
}

// The texts of a tool call or a function call.
bool ScanCall(JsonScanner& scanner, StreamFacts* facts) {
  facts->other_text |= scanner.Peek() == '{';
  return scanner.ForEachMember([&](absl::string_view key) {
    if (IsText(key)) return SeeText(scanner, facts);
    return key == "function" ? ScanCall(scanner, facts) : scanner.Skip();
  });
}

// The texts of a delta and of its tool calls and function calls.
bool ScanDelta(JsonScanner& scanner, StreamFacts* facts) {
  bool content_seen = false;
  return scanner.ForEachMember([&](absl::string_view key) {
    if (key == "content") return SeeMember(&content_seen, facts), SeeContent(scanner, facts);
    if (key == "role") return facts->has_role = true, scanner.Skip();
    if (key == "function_call") return ScanCall(scanner, facts);
    if (key == "tool_calls") return scanner.ForEachElement([&] { return ScanCall(scanner, facts); });
    return IsText(key) ? SeeOtherText(scanner, facts) : SeeOther(scanner, facts);
  });
}

bool ScanFinish(JsonScanner& scanner, StreamFacts* facts) {
  std::string reason;
  if (!scanner.CopyString(&reason)) return false;
  if (reason.empty()) return true;
  facts->finish = true;
  facts->finish_reason = std::move(reason);
  return true;
}

// A continuation is the text of choice 0.
bool SeeIndex(JsonScanner& scanner, StreamFacts* facts) {
  absl::string_view raw;
  if (!scanner.TakeRaw(&raw)) return false;
  facts->other_text |= raw != "0" && raw != "null";
  if (!absl::SimpleAtoi(raw, &facts->choice)) facts->choice = 0;
  return true;
}

bool ScanChoice(JsonScanner& scanner, Scan* scan) {
  scan->choices_empty = false;
  StreamFacts* const facts = &scan->facts;
  bool delta_seen = false;
  bool text_seen = false;
  return scanner.ForEachMember([&](absl::string_view key) {
    if (key == "index") return SeeIndex(scanner, facts);
    if (key == "delta") return SeeMember(&delta_seen, facts), ScanDelta(scanner, facts);
    if (key == "text") return SeeMember(&text_seen, facts), SeeContent(scanner, facts);
    if (key == "finish_reason") return ScanFinish(scanner, &scan->facts);
    return scanner.Skip();
  });
}

bool ScanChoices(JsonScanner& scanner, Scan* scan) {
  SeeMember(&scan->choices_seen, &scan->facts);
  scan->choices_empty = scanner.Peek() == '[';
  return scanner.ForEachElement([&] { return ScanChoice(scanner, scan); });
}

bool SeeError(JsonScanner& scanner, Scan* scan) {
  scan->error_found |= scanner.Peek() != 'n';
  return scanner.Skip();
}

bool SeeKind(JsonScanner& scanner, Scan* scan) {
  if (scanner.Peek() != '"') return scanner.Skip();
  absl::string_view kind;
  if (!scanner.TakeString(&kind)) return false;
  scan->error_found |= kind == "error";
  return true;
}

bool CopyObject(JsonScanner& scanner, std::string* out) {
  const bool object = scanner.Peek() == '{';
  absl::string_view raw;
  if (!scanner.TakeRaw(&raw)) return false;
  if (object) out->assign(raw.data(), raw.size());
  return true;
}

// The `response` object of the responses dialect.
bool ScanResponse(JsonScanner& scanner, Scan* scan) {
  return scanner.ForEachMember([&](absl::string_view key) {
    if (key == "usage") return ReadUsage(scanner, &scan->facts.usage);
    if (key == "status") return scanner.CopyString(&scan->status);
    if (key == "error") return CopyObject(scanner, &scan->error);
    if (key != "incomplete_details") return scanner.Skip();
    return scanner.ForEachMember([&](absl::string_view detail) {
      return detail == "reason" ? scanner.CopyString(&scan->reason) : scanner.Skip();
    });
  });
}

bool ScanEvent(absl::string_view data, Endpoint endpoint, Scan* scan) {
  const bool responses = endpoint == Endpoint::kResponses;
  JsonScanner scanner(data);
  const bool json = scanner.WholeObject([&](absl::string_view key) {
    if (key == "choices") return ScanChoices(scanner, scan);
    if (key == "usage") {
      scan->has_usage = scanner.Peek() == '{';
      return ReadUsage(scanner, &scan->facts.usage);
    }
    if (key == "error") return SeeError(scanner, scan);
    if (key == "object") return SeeKind(scanner, scan);
    if (key == "type") return scanner.CopyString(&scan->type);
    if (responses && key == "delta") return SeeText(scanner, &scan->facts);
    if (responses && key == "response") return ScanResponse(scanner, scan);
    return scanner.Skip();
  });
  return json && simdjson::validate_utf8(data.data(), data.size());
}

void ReadResponsesEvent(absl::string_view data, Scan* scan) {
  StreamFacts& facts = scan->facts;
  const std::string& type = scan->type;
  if (!absl::EndsWith(type, ".delta")) facts.has_text = false;
  if (type == "response.failed" || type == "error") {
    facts.done = true;
    facts.error = ParseEngineError(200, scan->error.empty() ? data : absl::string_view(scan->error));
    return;
  }
  facts.done = type == "response.completed" || type == "response.incomplete";
  if (!facts.done) return;
  facts.finish = true;
  const bool cut = type == "response.incomplete" || scan->status == "incomplete";
  facts.finish_reason = !cut ? "stop" : scan->reason == "content_filter" ? "content_filter" : "length";
}

}  // namespace

StreamFacts ReadStreamEvent(Endpoint endpoint, const SseSplitter::Event& event) {
  Scan scan;
  const absl::string_view data = absl::StripAsciiWhitespace(event.data);
  if (event.comment || data.empty()) return scan.facts;
  if (data == "[DONE]") {
    scan.facts.done = true;
    return scan.facts;
  }
  if (data == "null") {
    scan.facts.nothing = true;
    return scan.facts;
  }
  if (!ScanEvent(data, endpoint, &scan)) {
    scan.facts = StreamFacts();
    scan.facts.malformed = true;
    return scan.facts;
  }
  if (scan.error_found || (event.name == "error" && scan.type.empty())) {
    scan.facts.error = ParseEngineError(200, data);
    scan.facts.done = endpoint == Endpoint::kResponses;
  } else if (endpoint == Endpoint::kResponses) {
    ReadResponsesEvent(data, &scan);
  } else if (scan.facts.finish_reason == kFinishAborted) {
    scan.facts.error = AbortedByEngine();
  } else {
    scan.facts.usage_only = scan.choices_empty && scan.has_usage;
    scan.facts.opening = scan.choices_empty && !scan.has_usage;
  }
  return std::move(scan.facts);
}

}  // namespace penstock
