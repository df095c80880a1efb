#include "backends/dialect/answer_reader.h"

#include <simdjson.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "backends/dialect/finish_reason.h"
#include "backends/dialect/usage_reader.h"
#include "base/json_string.h"
#include "base/utf8.h"

namespace penstock {
namespace {

// A longer usage object or reason is passed over. The longest key that counts has 13 bytes.
constexpr size_t kMaxKept = 64 << 10;

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool InNumber(char c) { return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'; }

// The bytes of a character that begins with `lead`.
size_t LengthOf(unsigned char lead) { return lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1; }

void TakeReason(const std::string& reason, AnswerFacts* facts) {
  const absl::string_view known = OpenAiReason(reason);
  if (facts->finish_reason.empty() || known == "length") facts->finish_reason = std::string(known);
}

void TakeStatus(absl::string_view status, AnswerFacts* facts) {
  if (status.size() < 16) facts->status = std::string(status);
  if (status == "completed") facts->finish_reason = "stop";
  if (status == "incomplete") facts->finish_reason = "length";
  facts->error |= status == "failed";
}

// `error` is a member of good answers too, without a meaning.
bool TellsOfError(absl::string_view raw) {
  const bool container = raw.front() == '{' || raw.front() == '[';
  if (container) return absl::StripLeadingAsciiWhitespace(raw.substr(1)).size() > 1;
  return raw != "null" && raw != "false" && raw != "0" && raw != "\"\"";
}

bool ReadReason(JsonScanner& scanner, AnswerFacts* facts) {
  std::string reason;
  if (!scanner.CopyString(&reason)) return false;
  return TakeReason(reason, facts), true;
}

bool ReadChoice(JsonScanner& scanner, AnswerFacts* facts) {
  facts->choices |= scanner.Peek() == '{';
  return scanner.ForEachMember(
      [&](absl::string_view key) { return key == "finish_reason" ? ReadReason(scanner, facts) : scanner.Skip(); });
}

bool ReadStatus(JsonScanner& scanner, AnswerFacts* facts) {
  std::string status;
  if (!scanner.CopyString(&status)) return false;
  return TakeStatus(status, facts), true;
}

// vLLM of old has a flat error, whose `object` names it.
bool ReadSign(JsonScanner& scanner, absl::string_view key, AnswerFacts* facts) {
  absl::string_view raw;
  if (!scanner.TakeRaw(&raw)) return false;
  facts->error |= key == "error" ? TellsOfError(raw) : raw == "\"error\"";
  return true;
}

AnswerFacts Malformed() { return {.usage = {}, .finish_reason = {}, .status = {}, .malformed = true}; }

// The part of `text` before a character that its end cuts.
size_t WholeCharacters(absl::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (!ContinuesUtf8(byte)) return LengthOf(byte) > back ? text.size() - back : text.size();
  }
  return text.size();
}

}  // namespace

bool AnswerScan::Feed(absl::string_view piece) {
  if (bad_) return false;
  place_.at = kept_.from = piece.data();
  place_.end = piece.data() + piece.size();
  bad_ = !CheckEncoding(piece) || !Walk();
  CarryOver();
  return !bad_;
}

AnswerFacts AnswerScan::Finish() {
  if (!bad_ && place_.expected == Expected::kNothing && cut_.empty()) return std::move(facts_);
  return Malformed();
}

bool AnswerScan::CheckEncoding(absl::string_view piece) {
  if (!cut_.empty()) {
    const size_t length = LengthOf(static_cast<unsigned char>(cut_[0]));
    const size_t more = std::min(length - cut_.size(), piece.size());
    cut_.append(piece.data(), more);
    piece.remove_prefix(more);
    if (cut_.size() < length) return true;
    if (!simdjson::validate_utf8(cut_.data(), cut_.size())) return false;
  }
  const size_t whole = WholeCharacters(piece);
  cut_.assign(piece.data() + whole, piece.size() - whole);
  return simdjson::validate_utf8(piece.data(), whole);
}

bool AnswerScan::Walk() {
  while (place_.at < place_.end) {
    bool good = true;
    if (place_.expected == Expected::kInString || place_.expected == Expected::kInKey) {
      good = ReadString();
    } else if (place_.expected == Expected::kLiteral) {
      good = ReadLiteral();
    } else if (place_.expected == Expected::kNumber) {
      good = ReadNumber();
    } else if (IsSpace(*place_.at)) {
      ++place_.at;
    } else {
      good = Take(*place_.at);
    }
    if (!good) return false;
  }
  return true;
}

bool AnswerScan::Take(char c) {
  const char closing = InObject() ? '}' : ']';
  switch (place_.expected) {
    case Expected::kBody:
      return (c == '{' || absl::StrContains(BareAnswers(endpoint_), c)) && BeginValue(c);
    case Expected::kFirst:
      if (c == closing) return Close();
      return InObject() ? BeginKey() : BeginValue(c);
    case Expected::kNext:
      if (c == closing) return Close();
      ++place_.at;
      place_.expected = InObject() ? Expected::kKey : Expected::kValue;
      return c == ',';
    case Expected::kKey:
      return BeginKey();
    case Expected::kColon:
      ++place_.at;
      place_.expected = Expected::kValue;
      return c == ':';
    case Expected::kValue:
      return BeginValue(c);
    default:
      return false;
  }
}

bool AnswerScan::ReadString() {
  if (std::exchange(place_.escape, false)) {
    ++place_.at;
    return true;
  }
  place_.at = SkipPlainJson(place_.at, place_.end);
  if (place_.at == place_.end) return true;
  const char c = *place_.at++;
  place_.escape = c == '\\';
  if (c != '"') return place_.escape;
  if (place_.expected == Expected::kInString) return EndValue();
  place_.expected = Expected::kColon;
  if (kept_.part == Part::kKey) EndKey(KeptUpTo(place_.at - 1));
  return true;
}

bool AnswerScan::ReadLiteral() {
  if (*place_.at++ != place_.literal[0]) return false;
  place_.literal.remove_prefix(1);
  return !place_.literal.empty() || EndValue();
}

bool AnswerScan::ReadNumber() {
  while (place_.at < place_.end && InNumber(*place_.at)) ++place_.at;
  return place_.at == place_.end || EndValue();
}

bool AnswerScan::BeginKey() {
  if (*place_.at++ != '"') return false;
  place_.expected = Expected::kInKey;
  next_ = Part::kNone;
  const bool counts = place_.depth == 1 || (place_.depth == 3 && choices_ == Choices::kInside);
  if (counts && kept_.part == Part::kNone) Keep(Part::kKey);
  return true;
}

void AnswerScan::EndKey(absl::string_view key) {
  kept_.part = Part::kNone;
  if (place_.depth == 3) {
    if (key == "finish_reason") next_ = Part::kFinish;
    return;
  }
  choices_ = key == "choices" ? Choices::kNext : Choices::kElsewhere;
  if (key == "usage") next_ = Part::kUsage;
  if (key == "error") next_ = Part::kError;
  if (key == "object") next_ = Part::kObject;
  if (key == "status" && endpoint_ == Endpoint::kResponses) next_ = Part::kStatus;
  if (key == "stop_reason" && endpoint_ == Endpoint::kMessages) next_ = Part::kFinish;
}

bool AnswerScan::BeginValue(char c) {
  if (next_ != Part::kNone) Keep(std::exchange(next_, Part::kNone));
  if (c == '{' || c == '[') return Open(c);
  if (c == '"') {
    ++place_.at;
    place_.expected = Expected::kInString;
    return true;
  }
  if (c == 'n' || c == 't' || c == 'f') {
    place_.literal = c == 'n' ? "null" : c == 't' ? "true" : "false";
    place_.expected = Expected::kLiteral;
    return true;
  }
  place_.expected = Expected::kNumber;
  return InNumber(c);
}

bool AnswerScan::EndValue() {
  place_.expected = place_.depth > 0 ? Expected::kNext : Expected::kNothing;
  if (kept_.part == Part::kNone || kept_.part == Part::kKey || kept_.depth != place_.depth) return true;
  const absl::string_view raw = KeptUpTo(place_.at);
  const Part part = std::exchange(kept_.part, Part::kNone);
  // The beginning of a long error is enough.
  return (raw.size() > kMaxKept && part != Part::kError) || ReadPart(part, raw);
}

bool AnswerScan::Open(char c) {
  if (++place_.depth > kMaxDepth) return false;
  place_.objects[static_cast<size_t>(place_.depth)] = c == '{';
  if (place_.depth == 2 && choices_ == Choices::kNext) {
    choices_ = c == '[' ? Choices::kInside : Choices::kElsewhere;
  }
  facts_.choices |= place_.depth == 3 && choices_ == Choices::kInside && c == '{';
  ++place_.at;
  place_.expected = Expected::kFirst;
  return true;
}

bool AnswerScan::Close() {
  ++place_.at;
  if (place_.depth == 2) choices_ = Choices::kElsewhere;
  if (--place_.depth > 0) return EndValue();
  place_.expected = Expected::kNothing;
  return true;
}

void AnswerScan::Keep(Part part) {
  kept_.part = part;
  kept_.depth = place_.depth;
  kept_.from = place_.at;
  kept_.text.clear();
}

void AnswerScan::CarryOver() {
  if (kept_.part == Part::kNone || kept_.text.size() > kMaxKept) return;
  kept_.text.append(kept_.from, place_.end);
}

absl::string_view AnswerScan::KeptUpTo(const char* end) {
  const absl::string_view here(kept_.from, static_cast<size_t>(end - kept_.from));
  if (kept_.text.empty()) return here;
  if (kept_.text.size() <= kMaxKept) kept_.text.append(here.data(), here.size());
  return kept_.text;
}

bool AnswerScan::ReadPart(Part part, absl::string_view raw) {
  JsonScanner scanner(raw);
  if (part == Part::kUsage) return ReadUsage(scanner, &facts_.usage);
  if (part == Part::kObject) return ReadSign(scanner, "object", &facts_);
  if (part == Part::kError) return facts_.error |= TellsOfError(raw), true;
  std::string word;
  if (!scanner.CopyString(&word)) return false;
  part == Part::kFinish ? TakeReason(word, &facts_) : TakeStatus(word, &facts_);
  return true;
}

AnswerFacts ReadAnswer(Endpoint endpoint, absl::string_view body) {
  AnswerFacts facts;
  JsonScanner scanner(body);
  const bool bare = JsonScanner(body).SkipWhole(BareAnswers(endpoint));
  const bool json = bare || scanner.WholeObject([&](absl::string_view key) {
    if (key == "usage") return ReadUsage(scanner, &facts.usage);
    if (key == "choices") return scanner.ForEachElement([&] { return ReadChoice(scanner, &facts); });
    if (key == "status" && endpoint == Endpoint::kResponses) return ReadStatus(scanner, &facts);
    if (key == "stop_reason" && endpoint == Endpoint::kMessages) return ReadReason(scanner, &facts);
    if (key == "error" || key == "object") return ReadSign(scanner, key, &facts);
    return scanner.Skip();
  });
  if (!json || !simdjson::validate_utf8(body.data(), body.size())) return Malformed();
  return facts;
}

}  // namespace penstock
