#include "router/ollama/answer_writer.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "backends/dialect/assembly/answer_bounds.h"
#include "backends/dialect/assembly/content_parts.h"
#include "backends/dialect/assembly/cut_object.h"
#include "backends/dialect/json_scanner.h"
#include "base/json_string.h"
#include "router/openai/error/api_error.h"

namespace penstock::ollama {
namespace {

// False: neither a text nor a list of texts.
bool TakeText(JsonScanner& scanner, std::string& out) {
  return ForEachContentText(scanner, [&out](absl::string_view text) { out.append(text.data(), text.size()); });
}

// Some engines give an object in place of its text.
bool TakeArguments(JsonScanner& scanner, std::string& out) {
  if (scanner.Peek() != '{') return scanner.CopyString(&out);
  absl::string_view raw;
  if (!scanner.TakeRaw(&raw)) return false;
  out.assign(raw.data(), raw.size());
  return true;
}

// The index may stand behind the content. A choice without one has that of its place.
bool ReadIndex(JsonScanner scanner, int64_t* index) {
  return scanner.ForEachMember(
      [&](absl::string_view key) { return key == "index" ? scanner.CopyInt(index) : scanner.Skip(); });
}

}  // namespace

AnswerWriter::AnswerWriter(Call call, absl::string_view model, Instant arrival)
    : call_(call), model_(JsonQuote(model)), arrival_(arrival) {}

void AnswerWriter::DropCalls() {
  too_long_ = true;
  gathered_ = 0;
  tools_.clear();
}

AnswerWriter::ToolCall* AnswerWriter::CallAt(int64_t index, const std::string& id, bool named) {
  // Some engines give all calls the same index: a new id with a name begins another call.
  const auto found =
      std::find_if(tools_.rbegin(), tools_.rend(), [index](const ToolCall& call) { return call.index == index; });
  if (found != tools_.rend() && (id.empty() || !named || id == found->id)) return &*found;
  if (tools_.size() >= kMostListed) return nullptr;
  tools_.push_back({index, id, "", ""});
  return &tools_.back();
}

template <class Scanner>
bool AnswerWriter::ReadToolCalls(Scanner& scanner) {
  int64_t next = static_cast<int64_t>(tools_.size());
  size_t listed = 0;
  return scanner.ForEachElement([&] {
    if (++listed > kMostListed) return false;
    int64_t index = next++;
    std::string id, name, arguments;
    const bool read = scanner.ForEachMember([&](absl::string_view key) {
      if (key == "index") return scanner.CopyInt(&index);
      if (key == "id" && scanner.Peek() == '"') return scanner.CopyString(&id);
      if (key != "function") return scanner.Skip();
      return scanner.ForEachMember([&](absl::string_view member) {
        if (member == "name") return scanner.CopyString(&name);
        return member == "arguments" ? TakeArguments(scanner, arguments) : scanner.Skip();
      });
    });
    if (!read) return false;
    gathered_ += too_long_ ? 0 : id.size() + name.size() + arguments.size();
    if (gathered_ > kMostToolText) DropCalls();
    if (too_long_) return true;
    ToolCall* const call = CallAt(index, id, !name.empty());
    if (call == nullptr) return false;
    call->name += name;
    call->arguments += arguments;
    return true;
  });
}

template <class Scanner>
bool AnswerWriter::ReadMessage(Scanner& scanner, Texts& texts) {
  return scanner.ForEachMember([&](absl::string_view key) {
    if (key == "content" || key == "refusal") return TakeText(scanner, texts.content);
    // Some engines give the text under both names.
    if (key == "reasoning_content" || key == "reasoning") {
      return texts.thinking.empty() ? TakeText(scanner, texts.thinking) : scanner.Skip();
    }
    return key == "tool_calls" ? ReadToolCalls(scanner) : scanner.Skip();
  });
}

template <class Scanner>
bool AnswerWriter::ReadCount(Scanner& scanner, int64_t* count) {
  int64_t read = *count;
  if (!scanner.CopyInt(&read)) return false;
  if (read >= 0 && read <= kMostReported) *count = read;
  return true;
}

template <class Scanner>
bool AnswerWriter::ReadUsage(Scanner& scanner) {
  return scanner.ForEachMember([&](absl::string_view key) {
    if (key == "prompt_tokens") return ReadCount(scanner, &prompt_);
    return key == "completion_tokens" ? ReadCount(scanner, &output_) : scanner.Skip();
  });
}

template <class Scanner>
bool AnswerWriter::ReadChoice(Scanner& scanner, Texts& texts) {
  return scanner.ForEachMember([&](absl::string_view key) {
    if (key == "delta" || key == "message") return ReadMessage(scanner, texts);
    if (key == "text") return TakeText(scanner, texts.content);
    return key == "finish_reason" ? scanner.CopyString(&finish_) : scanner.Skip();
  });
}

bool AnswerWriter::Read(absl::string_view json, Texts& texts) {
  JsonScanner scanner(json);
  int64_t place = 0;
  bool taken = false;
  const auto read_choice = [&] {
    int64_t index = place++;
    if (taken) return scanner.Skip();
    if (!ReadIndex(scanner, &index)) return false;
    taken = index == 0;
    return taken ? ReadChoice(scanner, texts) : scanner.Skip();
  };
  return scanner.WholeObject([&](absl::string_view key) {
    if (key == "choices") return scanner.ForEachElement(read_choice);
    return key == "usage" ? ReadUsage(scanner) : scanner.Skip();
  });
}

std::string AnswerWriter::ToolCallsJson() const {
  std::string json = "[";
  for (const ToolCall& call : tools_) {
    if (call.name.empty()) continue;
    std::string arguments = call.arguments.empty() ? "{}" : call.arguments;
    if (finish_ == "length") arguments = WholeMembers(arguments);
    // Ollama's clients read an object.
    if (!IsJsonObject(arguments)) arguments = absl::StrCat("{\"arguments\":", JsonQuote(call.arguments), "}");
    absl::StrAppend(&json, json.size() > 1 ? "," : "", "{\"function\":{\"name\":", JsonQuote(call.name),
                    ",\"arguments\":", arguments, "}}");
  }
  return json + "]";
}

void AnswerWriter::Begin(const Texts& texts, bool with_tools, absl::string_view when, std::string& out) const {
  absl::StrAppend(&out, "{\"model\":", model_, ",\"created_at\":\"", when, "\",");
  const bool chat = call_ == Call::kChat;
  absl::StrAppend(&out, chat ? "\"message\":{\"role\":\"assistant\",\"content\":\"" : "\"response\":\"", texts.content,
                  "\"");
  if (!texts.thinking.empty()) absl::StrAppend(&out, ",\"thinking\":\"", texts.thinking, "\"");
  if (chat && with_tools && !tools_.empty()) absl::StrAppend(&out, ",\"tool_calls\":", ToolCallsJson());
  absl::StrAppend(&out, chat ? "}," : ",", "\"done\":");
}

void AnswerWriter::AddEnd(Instant now, std::string& out) const {
  const Duration total = now - arrival_;
  const Duration before = first_ ? *first_ - arrival_ : total;
  absl::StrAppend(&out, "true,\"done_reason\":\"", finish_ == "length" ? "length" : "stop",
                  "\",\"total_duration\":", total.nanoseconds(), ",\"load_duration\":0,\"prompt_eval_count\":", prompt_,
                  ",\"prompt_eval_duration\":", before.nanoseconds(),
                  ",\"eval_count\":", output_ < 0 ? pieces_ : output_,
                  ",\"eval_duration\":", (total - before).nanoseconds(), "}");
}

void AnswerWriter::Event(absl::string_view data, absl::string_view when, Instant now, std::string& out) {
  Texts texts;
  data = absl::StripAsciiWhitespace(data);
  if (unfit_ || data.empty() || data == "null" || data == "[DONE]") return;
  unfit_ = !Read(data, texts);
  if (unfit_ || (texts.content.empty() && texts.thinking.empty())) return;
  if (!first_) first_ = now;
  ++pieces_;
  Begin(texts, /*with_tools=*/false, when, out);
  absl::StrAppend(&out, "false}\n");
}

void AnswerWriter::End(absl::string_view when, Instant now, std::string& out) {
  if (call_ == Call::kChat && !tools_.empty()) {
    Begin({}, /*with_tools=*/true, when, out);
    absl::StrAppend(&out, "false}\n");
  }
  Begin({}, /*with_tools=*/false, when, out);
  AddEnd(now, out);
  out += '\n';
}

std::string AnswerWriter::Whole(absl::string_view body, absl::string_view when, Instant now) {
  Texts texts;
  unfit_ = !Read(body, texts);
  std::string out;
  Begin(texts, /*with_tools=*/true, when, out);
  AddEnd(now, out);
  return out;
}

std::string AnswerWriter::Loaded(absl::string_view when) const {
  std::string out;
  Begin({}, /*with_tools=*/false, when, out);
  absl::StrAppend(&out, "true,\"done_reason\":\"load\"}");
  return out;
}

}  // namespace penstock::ollama
