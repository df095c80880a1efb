#include "router/openai/passed/passed_scan.h"

#include <simdjson.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "router/openai/request/prompt_fields.h"
#include "router/openai/route/target.h"

namespace penstock {
namespace {

using MaybeError = std::optional<ApiError>;

constexpr size_t kMostNameBytes = 1024;  // Bytes of a model's name.
constexpr absl::string_view kModel = "model";

ModelSource SourceOfRequest(const PassedRequest& request) {
  return request.route == nullptr ? ModelSource{ModelSource::Kind::kBody, kModel} : SourceOf(*request.route);
}

std::vector<std::string> PromptsOf(const PassedRequest& request) {
  if (request.route == nullptr) return {"prompt"};
  return request.route->cost == RouteCost::kPrompt ? request.route->fields : std::vector<std::string>();
}

bool IsJsonType(absl::string_view content_type) {
  const absl::string_view type = absl::StripAsciiWhitespace(content_type.substr(0, content_type.find(';')));
  return type.empty() || absl::EqualsIgnoreCase(type, "application/json") || absl::EndsWithIgnoreCase(type, "+json");
}

ApiError TwiceNamed(absl::string_view name) {
  return MakeError(ErrorName::kDuplicateKey, absl::StrCat("The key `", name, "` occurs twice."), name);
}

ApiError TooLongName(absl::string_view name) {
  return MakeError(ErrorName::kInvalidValue,
                   absl::StrCat("`", name, "` must be at most ", kMostNameBytes, " bytes long."), name);
}

}  // namespace

bool IsForm(absl::string_view content_type) {
  const absl::string_view type = absl::StripAsciiWhitespace(content_type.substr(0, content_type.find(';')));
  return absl::EqualsIgnoreCase(type, "multipart/form-data");
}

PassedScan::PassedScan(const PassedRequest& request, absl::string_view body)
    : request_(request),
      body_(body),
      source_(SourceOfRequest(request)),
      prompts_(PromptsOf(request)),
      walk_(body),
      fields_(body, source_.kind == ModelSource::Kind::kBody ? source_.name : absl::string_view(), prompts_) {
  const bool by_prompt = request.route != nullptr && request.route->cost == RouteCost::kPrompt;
  if (source_.kind != ModelSource::Kind::kBody && !by_prompt) return;
  if (IsForm(request.content_type)) {
    kind_ = Body::kForm;
    form_.emplace(body, request.content_type, source_.kind == ModelSource::Kind::kBody ? source_.name : "", prompts_);
  } else if (request.route != nullptr && IsJsonType(request.content_type)) {
    kind_ = Body::kJson;
  } else {
    const absl::string_view wanted =
        request.route == nullptr ? "multipart/form-data" : "application/json or multipart/form-data";
    error_ = MakeError(ErrorName::kContentType, absl::StrCat("The content type must be ", wanted, ", not ",
                                                             request.content_type.substr(0, 100), "."));
  }
}

bool PassedScan::Advance(size_t bytes) {
  if (error_ || kind_ == Body::kUnread) return true;
  if (kind_ == Body::kJson) return AdvanceJson(bytes);
  if (!form_->Advance(bytes)) return false;
  error_ = form_->error();
  return true;
}

bool PassedScan::AdvanceJson(size_t bytes) {
  const JsonWalk::Progress progress = walk_.Run(fields_, bytes);
  const size_t walked = walk_.position();
  const auto fail = [this](absl::string_view message) {
    error_ = MakeError(ErrorName::kInvalidJson, message);
    return true;
  };
  if (progress == JsonWalk::Progress::kBad) {
    if (walk_.no_object()) return fail("The body must be a JSON object.");
    return fail(
        absl::StrCat("The body is not valid JSON: it is wrong, breaks off or is too deep near byte ", walked, "."));
  }
  if (!simdjson::validate_utf8(body_.data() + checked_, walked - checked_)) return fail("The body is not valid UTF-8.");
  checked_ = walked;
  return progress == JsonWalk::Progress::kDone;
}

std::variant<RequestFacts, ApiError> PassedScan::Take() {
  if (error_) return *std::move(error_);
  RequestFacts facts;
  facts.in_form = kind_ == Body::kForm;
  if (MaybeError error = ReadModel(facts)) return *std::move(error);
  if (MaybeError error = ReadCost(facts)) return *std::move(error);
  return facts;
}

MaybeError PassedScan::ReadModel(RequestFacts& facts) const {
  switch (source_.kind) {
    case ModelSource::Kind::kFixed:
      facts.model = std::string(source_.name);
      return std::nullopt;
    case ModelSource::Kind::kQuery:
      return ReadQueryModel(facts);
    case ModelSource::Kind::kBody:
      return ReadBodyModel(facts);
  }
  return std::nullopt;
}

MaybeError PassedScan::ReadQueryModel(RequestFacts& facts) const {
  bool twice = false;
  const std::optional<JsonSpan> at = FindParameter(request_.target, source_.name, &twice);
  if (twice) return TwiceNamed(source_.name);
  const std::optional<std::string> value =
      at ? PercentDecode(request_.target.substr(at->begin, at->size())) : std::string();
  if (!value || value->empty()) return MissingField(source_.name);
  if (value->size() > kMostNameBytes) return TooLongName(source_.name);
  facts.model = *value;
  facts.target_model_at = at;
  return std::nullopt;
}

MaybeError PassedScan::ReadBodyModel(RequestFacts& facts) const {
  const bool twice = kind_ == Body::kForm ? form_->twice() : fields_.twice();
  if (twice) return TwiceNamed(source_.name);
  const std::optional<JsonSpan> at = kind_ == Body::kForm ? form_->model_at() : fields_.model_at();
  if (!at) return MissingField(source_.name);
  if (at->size() > kMostNameBytes) return TooLongName(source_.name);
  const JsonValue value{body_, *at};
  if (kind_ == Body::kForm) {
    facts.model = std::string(value.raw());
  } else if (value.kind() == JsonKind::kString) {
    facts.model = value.Text();
  } else if (value.kind() != JsonKind::kNull) {
    return WrongType(source_.name, "a string");
  }
  if (facts.model.empty()) return MissingField(source_.name);
  facts.model_at = at;
  return std::nullopt;
}

MaybeError PassedScan::ReadCost(RequestFacts& facts) const {
  const int64_t built_in = TraitsOf(request_.endpoint).tokens;
  if (request_.route == nullptr) {
    facts.fixed_prompt = Tokens(built_in);
  } else if (request_.route->cost == RouteCost::kTokens) {
    facts.fixed_prompt = Tokens(request_.route->tokens.value_or(1));
  } else if (request_.route->cost == RouteCost::kPrompt) {
    const bool any = kind_ == Body::kForm ? form_->any_prompt() : fields_.any_prompt();
    if (!any) return MissingField(prompts_.front());
    facts.text = kind_ == Body::kForm ? form_->text() : fields_.text();
  }
  return std::nullopt;
}

}  // namespace penstock
