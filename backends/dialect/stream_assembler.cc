#include "backends/dialect/stream_assembler.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "backends/dialect/engine_error.h"
#include "backends/dialect/usage.h"

namespace penstock {

// Ordered, so that the fields of the answer have the usual order.
using Json = nlohmann::ordered_json;

namespace {

// The names and numbers around a piece of text are shorter, and each event replaces those of the one before.
constexpr size_t kPlainEvent = 1 << 10;
constexpr int64_t kMostCount = int64_t{1} << 40;  // Tokens. The sum of all choices stays far below 2^63.

struct Choice {
  std::string role = "assistant";
  std::string content;
  bool has_content = false;
  std::map<std::string, std::string> texts;  // reasoning_content, reasoning and refusal, if they came.
  std::map<int64_t, Json> tool_calls;
  Json logprobs;
  bool says_logprobs = false;  // Some event had the field, if only as null.
  Json finish_reason;
  Json stop_reason;
  Usage usage;  // The usage of the event with the finish reason.
};

int64_t IndexOf(const Json& object) {
  const auto it = object.find("index");
  return it != object.end() && it->is_number_integer() ? it->get<int64_t>() : 0;
}

std::string Append(const Json& value, const std::string& before) {
  return value.is_string() ? before + value.get_ref<const std::string&>() : before;
}

// Joins arrays of equal names and keeps the first value of other fields. This fits both kinds of logprobs.
void MergeLogprobs(const Json& piece, Json* whole) {
  if (!piece.is_object()) return;
  if (!whole->is_object()) {
    *whole = piece;
    return;
  }
  for (const auto& [key, value] : piece.items()) {
    Json& target = (*whole)[key];
    if (target.is_array() && value.is_array()) {
      target.insert(target.end(), value.begin(), value.end());
    } else if (target.is_null()) {
      target = value;
    }
  }
}

void MergeFunction(const Json& piece, Json* call) {
  Json& function = (*call)["function"];
  for (const auto& [key, value] : piece.items()) {
    if (!value.is_string()) continue;
    const std::string before = function.contains(key) ? function[key].get<std::string>() : std::string();
    function[key] = Append(value, before);
  }
}

void MergeToolCalls(const Json& pieces, Choice* choice) {
  for (const Json& piece : pieces) {
    if (!piece.is_object()) continue;
    Json& call = choice->tool_calls[IndexOf(piece)];
    if (call.is_null()) call = Json::object();
    for (const auto& [key, value] : piece.items()) {
      if (key == "function" && value.is_object()) {
        MergeFunction(value, &call);
      } else if (key != "index" && !value.is_null() && !call.contains(key)) {
        call[key] = value;
      }
    }
  }
}

absl::Status MergeDelta(const Json& delta, Choice* choice) {
  for (const auto& [key, value] : delta.items()) {
    if (value.is_null()) continue;
    if (key == "tool_calls" && value.is_array()) {
      MergeToolCalls(value, choice);
    } else if (key == "role" && value.is_string()) {
      choice->role = value.get<std::string>();
    } else if (key == "content" && value.is_string()) {
      choice->content += value.get_ref<const std::string&>();
      choice->has_content = true;
    } else if ((key == "reasoning_content" || key == "reasoning" || key == "refusal") && value.is_string()) {
      choice->texts[key] += value.get_ref<const std::string&>();
    } else {
      return absl::UnimplementedError(absl::StrCat("delta field ", key));
    }
  }
  return absl::OkStatus();
}

std::optional<Usage> UsageOf(const Json& event) {
  const auto it = event.find("usage");
  if (it == event.end() || !it->is_object()) return std::nullopt;
  const auto count = [&](const char* key) {
    const auto found = it->find(key);
    const int64_t number = found != it->end() && found->is_number_integer() ? found->get<int64_t>() : 0;
    return Tokens(std::clamp<int64_t>(number, 0, kMostCount));
  };
  return Usage{count("prompt_tokens"), count("completion_tokens")};
}

std::string Text(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

// An object without its end.
std::string Opening(const Json& object) {
  std::string text = Text(object);
  text.pop_back();
  return text;
}

void AddMessage(Choice& choice, JsonPieces* answer) {
  const bool no_content = !choice.has_content && !choice.tool_calls.empty();
  answer->AddJson("\"message\":{\"role\":");
  answer->AddText(choice.role);
  answer->AddJson(",\"content\":");
  if (no_content) {
    answer->AddJson("null");
  } else {
    answer->AddText(std::move(choice.content));
  }
  for (auto& [key, text] : choice.texts) {
    answer->AddJson(absl::StrCat(",\"", key, "\":"));
    answer->AddText(std::move(text));
  }
  if (!choice.tool_calls.empty()) {
    Json calls = Json::array();
    for (auto& [index, call] : choice.tool_calls) calls.push_back(std::move(call));
    answer->AddJson(",\"tool_calls\":" + Text(calls));
  }
  answer->AddJson("}");
}

// The members behind the message or text, and the end of the choice.
std::string EndOf(const Choice& choice) {
  Json end;
  if (choice.says_logprobs) end["logprobs"] = choice.logprobs;
  end["finish_reason"] = choice.finish_reason;
  if (!choice.stop_reason.is_null()) end["stop_reason"] = choice.stop_reason;
  return Text(end).substr(1);
}

}  // namespace

struct StreamAssembler::Document {
  absl::Status AddChoice(const Json& piece, Endpoint endpoint, const std::optional<Usage>& usage);
  void AddUsage(const Json& event, const std::optional<Usage>& reported, bool alone);
  // The usage of the answer. Null when no event had one.
  Json UsageJson() const;
  // The text of all choices.
  size_t TextBytes() const;

  Json top = Json::object();  // The last value of every other field.
  std::map<int64_t, Choice> choices;
  Json usage;     // The last usage object, with its details.
  Usage sum;      // Usage of events without choices. Some engines send one per choice.
  int alone = 0;  // The number of these events.
};

absl::Status StreamAssembler::Document::AddChoice(const Json& piece, Endpoint endpoint,
                                                  const std::optional<Usage>& reported) {
  if (!piece.is_object()) return absl::InvalidArgumentError("choice is not an object");
  Choice& choice = choices[IndexOf(piece)];
  for (const auto& [key, value] : piece.items()) {
    choice.says_logprobs |= key == "logprobs";
    if (value.is_null() || key == "index") continue;
    if (key == "finish_reason") {
      choice.finish_reason = value;
      if (reported) choice.usage = *reported;
    } else if (key == "stop_reason") {
      choice.stop_reason = value;
    } else if (key == "logprobs") {
      MergeLogprobs(value, &choice.logprobs);
    } else if (key == "delta" && endpoint == Endpoint::kChat && value.is_object()) {
      if (absl::Status merged = MergeDelta(value, &choice); !merged.ok()) return merged;
    } else if (key == "text" && endpoint == Endpoint::kCompletions && value.is_string()) {
      choice.content += value.get_ref<const std::string&>();
    } else {
      return absl::UnimplementedError(absl::StrCat("choice field ", key));
    }
  }
  return absl::OkStatus();
}

void StreamAssembler::Document::AddUsage(const Json& event, const std::optional<Usage>& reported,
                                         bool without_choices) {
  if (!reported) return;
  usage = event["usage"];
  if (!without_choices) return;
  ++alone;
  sum.prompt = std::max(sum.prompt, reported->prompt);
  sum.output += reported->output;
}

Json StreamAssembler::Document::UsageJson() const {
  if (usage.is_null() || choices.size() < 2) return usage;
  Usage all = sum;
  if (alone == 0) {
    for (const auto& [index, choice] : choices) {
      all.prompt = std::max(all.prompt, choice.usage.prompt);
      all.output += choice.usage.output;
    }
  }
  Json shown = usage;
  shown["prompt_tokens"] = all.prompt.value();
  shown["completion_tokens"] = all.output.value();
  shown["total_tokens"] = (all.prompt + all.output).value();
  return shown;
}

size_t StreamAssembler::Document::TextBytes() const {
  size_t bytes = 0;
  for (const auto& [index, choice] : choices) {
    bytes += choice.content.size();
    for (const auto& [key, text] : choice.texts) bytes += text.size();
  }
  return bytes;
}

StreamAssembler::StreamAssembler(Endpoint endpoint) : document_(std::make_unique<Document>()), endpoint_(endpoint) {}
StreamAssembler::~StreamAssembler() = default;

absl::Status StreamAssembler::Add(absl::string_view data) {
  const absl::string_view plain = absl::StripAsciiWhitespace(data);
  if (plain == "[DONE]" || plain == "null") return absl::OkStatus();
  const Json event = Json::parse(data.data(), data.data() + data.size(), nullptr, false);
  if (!event.is_object()) return absl::InvalidArgumentError("event is not a JSON object");
  if (const auto error = event.find("error"); error != event.end() && !error->is_null()) {
    return absl::InternalError(ParseEngineError(200, data).message);
  }
  const auto choices = event.find("choices");
  if (choices == event.end() || !choices->is_array()) return absl::UnimplementedError("event without choices");
  const std::optional<Usage> usage = UsageOf(event);
  const size_t text = document_->TextBytes();
  const size_t names = document_->top.size() + document_->choices.size();
  for (const Json& choice : *choices) {
    if (absl::Status added = document_->AddChoice(choice, endpoint_, usage); !added.ok()) return added;
  }
  document_->AddUsage(event, usage, choices->empty());
  for (const auto& [key, value] : event.items()) {
    if (key != "choices" && key != "usage" && key != "object" && key != "prompt_progress") document_->top[key] = value;
  }
  const size_t more_text = document_->TextBytes() - text;
  const bool more_names = names != document_->top.size() + document_->choices.size();
  bytes_ += more_names || data.size() - more_text > kPlainEvent ? data.size() : more_text;
  return absl::OkStatus();
}

absl::StatusOr<JsonPieces> StreamAssembler::Finish() {
  if (document_->choices.empty()) return absl::FailedPreconditionError("the stream had no choice");
  for (const auto& [index, choice] : document_->choices) {
    if (!choice.finish_reason.is_null()) continue;
    return absl::FailedPreconditionError(absl::StrCat("choice ", index, " did not finish"));
  }
  Json head;
  Json tail = Json::object();
  Json& top = document_->top;
  const auto move_to_head = [&](const char* key) {
    const auto it = top.find(key);
    if (it == top.end()) return;
    head[key] = std::move(*it);
    top.erase(it);
  };
  move_to_head("id");
  head["object"] = endpoint_ == Endpoint::kChat ? "chat.completion" : "text_completion";
  for (const char* key : {"created", "model", "system_fingerprint"}) move_to_head(key);
  if (Json usage = document_->UsageJson(); !usage.is_null()) tail["usage"] = std::move(usage);
  for (auto& [key, value] : top.items()) tail[key] = std::move(value);
  JsonPieces answer;
  answer.AddJson(Opening(head) + ",\"choices\":[");
  bool first = true;
  for (auto& [index, choice] : document_->choices) {
    answer.AddJson(absl::StrCat(std::exchange(first, false) ? "" : ",", "{\"index\":", index, ","));
    if (endpoint_ == Endpoint::kChat) {
      AddMessage(choice, &answer);
    } else {
      answer.AddJson("\"text\":");
      answer.AddText(std::move(choice.content));
    }
    answer.AddJson("," + EndOf(choice));
  }
  answer.AddJson(tail.empty() ? "]}" : "]," + Text(tail).substr(1));
  return answer;
}

}  // namespace penstock
