#include "backends/dialect/assembly/stream_assembler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "backends/dialect/engine_error.h"
#include "backends/dialect/json_scanner.h"
#include "backends/dialect/usage_reader.h"

namespace penstock {
namespace {

constexpr int64_t kMostCount = int64_t{1} << 40;  // Tokens. The sum of all choices stays far below 2^63.
constexpr size_t kPerChoice = 512;                // Bytes of a choice's books, roughly.

absl::Status NotObject() { return absl::InvalidArgumentError("event is not a JSON object"); }

absl::Status TooManyFields() { return absl::UnimplementedError("too many fields of an event"); }

Tokens Bounded(Tokens count) { return std::clamp(count, Tokens(0), Tokens(kMostCount)); }

// "key":value, with a comma before all but the first.
void AppendMember(absl::string_view key, absl::string_view value, std::string* object) {
  absl::StrAppend(object, object->size() > 1 ? "," : "", "\"", key, "\":", value);
}

}  // namespace

absl::Status StreamAssembler::Add(absl::string_view data) {
  const absl::string_view plain = absl::StripAsciiWhitespace(data);
  if (plain == "[DONE]" || plain == "null") return absl::OkStatus();
  said_.choices = said_.error = false;
  said_.usage.reset();
  said_.finished.clear();
  said_.top.clear();
  said_.pieces = 0;
  absl::Status status;
  JsonScanner scanner(plain);
  const bool object = scanner.WholeObject([&](absl::string_view key) {
    status = AddMember(scanner, key);
    return status.ok();
  });
  if (said_.error) {
    const std::string message = ParseEngineError(200, data).message;
    return absl::InternalError(message.empty() ? "an error without a message" : message);
  }
  if (!status.ok()) return status;
  if (!object) return NotObject();
  if (said_.usage) TakeUsage(*said_.usage);
  return said_.choices ? KeepTop() : absl::OkStatus();
}

absl::Status StreamAssembler::AddMember(JsonScanner& scanner, absl::string_view key) {
  const char first = scanner.Peek();
  if (key == "choices") return AddChoices(scanner);
  if (key == "error" && first != 'n') {
    said_.error = true;
    return NotObject();
  }
  if (key == "usage" && first == '{') {
    absl::string_view raw;
    if (!scanner.TakeRaw(&raw)) return NotObject();
    JsonScanner inside(raw);
    if (!ReadUsage(inside, &said_.usage)) return NotObject();
    bytes_ += raw.size() - std::min(raw.size(), usage_.size());
    if (said_.usage) usage_.assign(raw.data(), raw.size());
    return absl::OkStatus();
  }
  const bool none = key == "usage" || key == "error" || key == "object" || key == "prompt_progress";
  absl::string_view raw;
  if (!scanner.TakeRaw(&raw)) return NotObject();
  if (!none && said_.top.size() <= JsonMembers::kMost) said_.top.emplace_back(key, raw);
  return absl::OkStatus();
}

absl::Status StreamAssembler::KeepTop() {
  if (said_.top.size() > JsonMembers::kMost) return TooManyFields();
  for (const auto& [key, raw] : said_.top) {
    const bool known = top_.Has(key);
    if (known && raw == "null") continue;
    std::string* value = top_.Find(key);
    if (value == nullptr) return TooManyFields();
    bytes_ += (known ? 0 : key.size()) + raw.size() - std::min(raw.size(), value->size());
    value->assign(raw.data(), raw.size());
  }
  return absl::OkStatus();
}

absl::Status StreamAssembler::AddChoices(JsonScanner& scanner) {
  said_.choices = scanner.Peek() == '[';
  absl::Status status;
  const bool json = scanner.ForEachElement([&] {
    if (scanner.Peek() != '{') {
      status = absl::InvalidArgumentError("choice is not an object");
      return false;
    }
    int64_t index = 0;
    absl::string_view raw;
    const bool object = scanner.TakeRawObject(
        &raw, [&](absl::string_view key) { return key == "index" ? scanner.CopyInt(&index) : scanner.Skip(); });
    if (!object) return false;
    ++said_.pieces;
    status = AddChoice(raw, index);
    return status.ok();
  });
  if (!status.ok()) return status;
  return json ? absl::OkStatus() : NotObject();
}

absl::Status StreamAssembler::AddChoice(absl::string_view piece, int64_t index) {
  auto found = choices_.find(index);
  if (found == choices_.end()) {
    if (choices_.size() >= kMostChoices) return absl::UnimplementedError("too many choices");
    found = choices_.try_emplace(index).first;
    bytes_ += kPerChoice;
  }
  AssembledChoice& choice = found->second;
  const bool before = choice.finished();
  absl::Status status = choice.Add(piece, endpoint_);
  bytes_ += choice.added();
  if (choice.finished() && !before) said_.finished.push_back(&choice);
  return status;
}

void StreamAssembler::TakeUsage(Usage usage) {
  usage.prompt = Bounded(usage.prompt);
  usage.output = Bounded(usage.output);
  for (AssembledChoice* choice : said_.finished) choice->usage = usage;
  if (said_.pieces > 0) return;
  ++alone_;
  sum_.prompt = std::max(sum_.prompt, usage.prompt);
  sum_.output += usage.output;
}

std::string StreamAssembler::UsageJson() const {
  if (usage_.empty() || choices_.size() < 2) return usage_;
  Usage all = sum_;
  if (alone_ == 0) {
    for (const auto& [index, choice] : choices_) {
      all.prompt = std::max(all.prompt, choice.usage.prompt);
      all.output += choice.usage.output;
    }
  }
  std::string shown = "{";
  AppendMember("prompt_tokens", absl::StrCat(all.prompt.value()), &shown);
  AppendMember("completion_tokens", absl::StrCat(all.output.value()), &shown);
  AppendMember("total_tokens", absl::StrCat((all.prompt + all.output).value()), &shown);
  JsonScanner scanner(usage_);
  scanner.ForEachMember([&](absl::string_view key) {
    absl::string_view raw;
    if (!scanner.TakeRaw(&raw)) return false;
    const bool counted = key == "prompt_tokens" || key == "completion_tokens" || key == "total_tokens";
    if (!counted) AppendMember(key, raw, &shown);
    return true;
  });
  return shown + "}";
}

absl::StatusOr<JsonPieces> StreamAssembler::Finish() {
  if (choices_.empty()) return absl::FailedPreconditionError("the stream had no choice");
  for (const auto& [index, choice] : choices_) {
    if (choice.finished()) continue;
    return absl::FailedPreconditionError(absl::StrCat("choice ", index, " did not finish"));
  }
  std::string head = "{";
  const auto move_to_head = [&](absl::string_view key) {
    if (top_.Has(key)) AppendMember(key, top_.Take(key), &head);
  };
  move_to_head("id");
  AppendMember("object", endpoint_ == Endpoint::kChat ? "\"chat.completion\"" : "\"text_completion\"", &head);
  for (absl::string_view key : {"created", "model", "system_fingerprint"}) move_to_head(key);
  JsonPieces answer;
  answer.Add(head + ",\"choices\":[");
  absl::string_view comma;
  for (auto& [index, choice] : choices_) {
    answer.Add(absl::StrCat(std::exchange(comma, ","), "{\"index\":", index, ","));
    choice.Write(endpoint_, &answer);
  }
  std::string tail = "]";
  if (const std::string usage = UsageJson(); !usage.empty()) absl::StrAppend(&tail, ",\"usage\":", usage);
  for (const JsonMembers::Member& member : top_.list()) absl::StrAppend(&tail, ",\"", member.key, "\":", member.value);
  answer.Add(tail + "}");
  return answer;
}

}  // namespace penstock
