#include "router/ollama/request_builder.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json_string.h"
#include "router/ollama/field_errors.h"
#include "router/ollama/options.h"
#include "router/openai/request/prompt_fields.h"

namespace penstock::ollama {
namespace {

using MaybeError = std::optional<ApiError>;

constexpr size_t kLongestName = 1024;
// The word "json" with its quotes, each letter escaped.
constexpr size_t kMostOfJson = 2 + 4 * 6;
// A message costs at least as much as so many bytes of tool calls.
constexpr size_t kCostOfMessage = 256;

MaybeError ReadFlag(const RequestFields& fields, Field field, absl::string_view name, bool& out) {
  const std::optional<JsonValue> value = fields.Find(field);
  if (!value) return std::nullopt;
  if (value->kind() != JsonKind::kBool) return WrongField(name, "a boolean");
  out = value->IsTrue();
  return std::nullopt;
}

// The first bytes of the picture in base64 tell it.
absl::string_view TypeOfPicture(absl::string_view base64) {
  if (absl::StartsWith(base64, "/9j/")) return "image/jpeg";
  if (absl::StartsWith(base64, "R0lGOD")) return "image/gif";
  if (absl::StartsWith(base64, "UklGR")) return "image/webp";
  return "image/png";
}

std::string AsJsonString(absl::string_view text) {
  std::string quoted = "\"";
  AppendJsonEscaped(text, &quoted);
  return quoted + "\"";
}

std::optional<JsonValue> MemberOf(const JsonValue& object, absl::string_view name) {
  if (object.kind() != JsonKind::kObject) return std::nullopt;
  JsonObject members(object);
  while (auto member = members.Next()) {
    if (member->key == name) return member->value;
  }
  return std::nullopt;
}

bool IsEmptyString(const std::optional<JsonValue>& value) {
  return !value || (value->kind() == JsonKind::kString && value->span.size() == 2);
}

}  // namespace

void RequestBuilder::Add(absl::string_view text) {
  if (segments_.empty() || segments_.back().span.size() > 0) segments_.emplace_back();
  absl::StrAppend(&segments_.back().own, text);
  size_ += text.size();
}

void RequestBuilder::Add(JsonSpan span) {
  if (segments_.empty() || segments_.back().span.size() > 0) segments_.emplace_back();
  segments_.back().span = span;
  size_ += span.size();
}

MaybeError RequestBuilder::ReadModel(std::string* model) const {
  std::optional<JsonValue> value = fields_.Find(Field::kModel);
  if (!value) value = fields_.Find(Field::kName);
  if (!value) return MissingField("model");
  if (value->kind() != JsonKind::kString) return WrongField("model", "a string");
  if (value->span.size() > kLongestName) return TooLong("model", kLongestName);
  *model = value->Text();
  if (model->empty()) return MissingField("model");
  return std::nullopt;
}

MaybeError RequestBuilder::ReadFlags() {
  if (fields_.too_many()) {
    return MakeError(ErrorName::kTooManyElements,
                     absl::StrCat("A request may have at most ", RequestFields::kMostMessages, " messages and ",
                                  RequestFields::kMostImages, " images."));
  }
  if (fields_.wrong_type()) return WrongField("messages", "a list of objects, and `images` a list of base64 texts");
  if (MaybeError error = ReadFlag(fields_, Field::kStream, "stream", stream_)) return error;
  if (call_ == Call::kGenerate) {
    if (MaybeError error = ReadFlag(fields_, Field::kRaw, "raw", raw_)) return error;
  }
  for (const auto& [field, name] : {std::pair(Field::kSuffix, "suffix"), std::pair(Field::kTemplate, "template")}) {
    if (call_ != Call::kGenerate || IsEmptyString(fields_.Find(field))) continue;
    return MakeError(ErrorName::kUnsupportedField, absl::StrCat("`", name, "` is not supported by Penstock."), name);
  }
  return std::nullopt;
}

MaybeError RequestBuilder::Begin(absl::string_view model) {
  if (MaybeError error = ReadFlags()) return error;
  Add(absl::StrCat("{\"model\":", AsJsonString(model), ",\"stream\":", stream_ ? "true" : "false"));
  if (stream_) Add(",\"stream_options\":{\"include_usage\":true}");
  if (call_ == Call::kGenerate) return AddGenerate();
  const std::optional<JsonValue> messages = fields_.Find(Field::kMessages);
  if (messages && messages->kind() != JsonKind::kArray) return WrongField("messages", "a list of objects");
  empty_ = fields_.messages().empty();
  Add(",\"messages\":[");
  return std::nullopt;
}

MaybeError RequestBuilder::Plan() {
  if (call_ == Call::kChat) {
    const std::vector<Message>& messages = fields_.messages();
    for (size_t cost = 0; message_ < messages.size(); ++message_) {
      if (cost >= kSlice) return std::nullopt;
      const Message& message = messages[message_];
      if (message_ > 0) Add(",");
      if (MaybeError error = AddMessage(message, message_)) return error;
      cost += kCostOfMessage + message.At(Part::kToolCalls).size();
    }
    Add("]");
    if (MaybeError error = AddTools()) return error;
  }
  planned_ = true;
  return AddRest();
}

MaybeError RequestBuilder::AddTools() {
  const std::optional<JsonValue> tools = fields_.Find(Field::kTools);
  if (!tools || tools->raw() == "[]") return std::nullopt;
  if (tools->kind() != JsonKind::kArray) return WrongField("tools", "a list");
  Add(",\"tools\":");
  Add(tools->span);
  return std::nullopt;
}

MaybeError RequestBuilder::AddRest() {
  if (const std::optional<JsonValue> options = fields_.Find(Field::kOptions)) {
    std::string members;
    if (MaybeError error = AppendOptions(*options, &members)) return error;
    Add(members);
  }
  if (MaybeError error = AddFormat()) return error;
  if (MaybeError error = AddThink()) return error;
  Add("}");
  return std::nullopt;
}

MaybeError RequestBuilder::AddGenerate() {
  const std::optional<JsonValue> prompt = fields_.Find(Field::kPrompt);
  const std::optional<JsonValue> system = fields_.Find(Field::kSystem);
  if (prompt && prompt->kind() != JsonKind::kString) return WrongField("prompt", "a string");
  if (system && system->kind() != JsonKind::kString) return WrongField("system", "a string");
  if (raw_ && !fields_.images().empty()) return WrongField("images", "left out where `raw` is true");
  empty_ = IsEmptyString(prompt) && fields_.images().empty();
  if (empty_) return std::nullopt;
  if (raw_) {
    Add(",\"prompt\":");
    Add(prompt->span);
    return std::nullopt;
  }
  Add(",\"messages\":[");
  if (!IsEmptyString(system)) {
    Add("{\"role\":\"system\",\"content\":");
    Add(system->span);
    Add("},");
  }
  Add("{\"role\":\"user\"");
  AddContent(prompt ? prompt->span : JsonSpan(), fields_.images());
  Add("}]");
  return std::nullopt;
}

MaybeError RequestBuilder::AddMessage(const Message& message, size_t position) {
  const std::string place = absl::StrCat("messages[", position, "]");
  const JsonSpan role = message.At(Part::kRole), content = message.At(Part::kContent);
  const auto is_text = [this](JsonSpan span) { return fields_.ValueIn(span).kind() == JsonKind::kString; };
  if (role.size() == 0 || !is_text(role)) return WrongField(absl::StrCat(place, ".role"), "a string");
  if (content.size() > 0 && !is_text(content)) return WrongField(absl::StrCat(place, ".content"), "a string");
  Add("{\"role\":");
  Add(role);
  AddContent(content, message.images);
  if (const JsonSpan calls = message.At(Part::kToolCalls); calls.size() > 0) {
    if (MaybeError error = AddToolCalls(calls, place)) return error;
  }
  if (const JsonSpan name = message.At(Part::kToolName); name.size() > 0 && is_text(name)) {
    Add(",\"name\":");
    Add(name);
  }
  if (const JsonSpan id = message.At(Part::kToolCallId); id.size() > 0 && is_text(id)) {
    Add(",\"tool_call_id\":");
    Add(id);
  } else if (fields_.ValueIn(role).raw() == "\"tool\"") {
    Add(absl::StrCat(",\"tool_call_id\":\"call_", unanswered_.empty() ? 0 : unanswered_.front(), "\""));
    if (!unanswered_.empty()) unanswered_.pop_front();
  }
  Add("}");
  return std::nullopt;
}

void RequestBuilder::AddContent(JsonSpan content, const std::vector<JsonSpan>& images) {
  Add(",\"content\":");
  const auto add_text = [this, content] { content.size() > 0 ? Add(content) : Add("\"\""); };
  if (images.empty()) return add_text();
  Add("[{\"type\":\"text\",\"text\":");
  add_text();
  Add("}");
  for (const JsonSpan image : images) {
    const JsonSpan inside{image.begin + 1, image.end - 1};
    const absl::string_view base64 = fields_.ValueIn(inside).raw();
    Add(absl::StrCat(",{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:", TypeOfPicture(base64), ";base64,"));
    if (inside.size() > 0) Add(inside);
    Add("\"}}");
  }
  Add("]");
}

MaybeError RequestBuilder::AddToolCalls(JsonSpan calls, absl::string_view place) {
  const std::string name = absl::StrCat(place, ".tool_calls");
  const JsonValue list = fields_.ValueIn(calls);
  if (list.kind() != JsonKind::kArray) return WrongField(name, "a list");
  if (calls.size() > kLongestPart) return TooLong(name);
  calls_bytes_ += calls.size();
  if (calls_bytes_ > kMostCalls) return TooLong("messages[].tool_calls", kMostCalls);
  JsonArray elements(list);
  const char* before = ",\"tool_calls\":[";
  while (const auto call = elements.Next()) {
    const std::optional<JsonValue> function = MemberOf(*call, "function");
    const std::optional<JsonValue> named = function ? MemberOf(*function, "name") : std::nullopt;
    if (!named || named->kind() != JsonKind::kString) return WrongField(name, "a list of calls with a function");
    const std::optional<JsonValue> arguments = MemberOf(*function, "arguments");
    const bool text = arguments && arguments->kind() == JsonKind::kString;
    const std::string given = !arguments ? "\"{}\""
                              : text     ? std::string(arguments->raw())
                                         : AsJsonString(arguments->raw());
    Add(absl::StrCat(before, "{\"id\":\"call_", next_id_,
                     "\",\"type\":\"function\",\"function\":{\"name\":", named->raw(), ",\"arguments\":", given, "}}"));
    unanswered_.push_back(next_id_++);
    before = ",";
  }
  if (before[1] == '\0') Add("]");
  return std::nullopt;
}

MaybeError RequestBuilder::AddFormat() {
  const std::optional<JsonValue> format = fields_.Find(Field::kFormat);
  if (IsEmptyString(format)) return std::nullopt;
  const bool short_text = format->kind() == JsonKind::kString && format->span.size() <= kMostOfJson;
  if (short_text && format->Text() == "json") {
    Add(",\"response_format\":{\"type\":\"json_object\"}");
    return std::nullopt;
  }
  if (format->kind() != JsonKind::kObject) return WrongField("format", "\"json\" or a JSON schema");
  Add(",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"response\",\"schema\":");
  Add(format->span);
  Add("}}");
  return std::nullopt;
}

// A level goes on as OpenAI names it; yes and no as the chat templates of engines do.
MaybeError RequestBuilder::AddThink() {
  const std::optional<JsonValue> think = fields_.Find(Field::kThink);
  if (!think || raw_) return std::nullopt;
  if (think->kind() == JsonKind::kString) {
    if (think->span.size() > kLongestName) return TooLong("think", kLongestName);
    Add(absl::StrCat(",\"reasoning_effort\":", think->raw()));
  }
  if (think->kind() == JsonKind::kBool) {
    Add(absl::StrCat(",\"chat_template_kwargs\":{\"enable_thinking\":", think->raw(), "}"));
  }
  return std::nullopt;
}

bool RequestBuilder::Advance(std::string& out) {
  size_t left = kSlice;
  while (left > 0 && segment_ < segments_.size()) {
    const Segment& segment = segments_[segment_];
    const size_t own = segment.own.size(), all = own + segment.span.size();
    const absl::string_view rest = copied_ < own ? absl::string_view(segment.own).substr(copied_)
                                                 : fields_.ValueIn(segment.span).raw().substr(copied_ - own);
    const absl::string_view some = rest.substr(0, left);
    out.append(some.data(), some.size());
    copied_ += some.size();
    left -= some.size();
    if (copied_ < all) continue;
    ++segment_;
    copied_ = 0;
  }
  return segment_ == segments_.size();
}

}  // namespace penstock::ollama
