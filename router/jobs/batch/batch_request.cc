#include "router/jobs/batch/batch_request.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "router/openai/route/routes.h"

namespace penstock::jobs {
namespace {

using Json = nlohmann::json;

// OpenAI's bounds.
constexpr size_t kMostMetadata = 16;
constexpr size_t kLongestKey = 64;
constexpr size_t kLongestValue = 512;
constexpr int64_t kShortestExpiry = 3600;
constexpr int64_t kLongestExpiry = 2'592'000;

ApiError Invalid(absl::string_view field, absl::string_view message) {
  return MakeError(ErrorName::kInvalidValue, absl::StrCat("`", field, "` ", message), field);
}

// The text of a required member, or what is wrong with it.
std::variant<std::string, ApiError> Text(const Json& body, const char* field) {
  const auto found = body.find(field);
  if (found == body.end() || found->is_null()) {
    return MakeError(ErrorName::kMissingField, absl::StrCat("`", field, "` is required."), field);
  }
  if (!found->is_string())
    return MakeError(ErrorName::kWrongType, absl::StrCat("`", field, "` must be a string."), field);
  return found->get<std::string>();
}

std::optional<ApiError> TakeText(const Json& body, const char* field, std::string& text) {
  auto read = Text(body, field);
  if (ApiError* bad = std::get_if<ApiError>(&read)) return std::move(*bad);
  text = std::get<std::string>(std::move(read));
  return std::nullopt;
}

// The text is UTF-8.
size_t Characters(absl::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (static_cast<uint8_t>(byte) & 0xC0) != 0x80; }));
}

// A key that occurs twice in one object of the body.
std::optional<std::string> RepeatedKey(absl::string_view body) {
  std::optional<std::string> repeated;
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second) {
      repeated = parsed.get<std::string>();
    }
    return true;
  };
  [[maybe_unused]] const Json parsed = Json::parse(body.begin(), body.end(), watch, /*allow_exceptions=*/false);
  return repeated;
}

std::optional<ApiError> TakeMetadata(const Json& body, BatchRequest& request) {
  const auto found = body.find("metadata");
  if (found == body.end() || found->is_null()) return std::nullopt;
  if (!found->is_object()) return MakeError(ErrorName::kWrongType, "`metadata` must be an object.", "metadata");
  if (found->size() > kMostMetadata) {
    return Invalid("metadata", absl::StrCat("has ", found->size(), " entries; the most is ", kMostMetadata, "."));
  }
  for (const auto& [key, value] : found->items()) {
    if (!value.is_string())
      return MakeError(ErrorName::kWrongType, "Values of `metadata` must be strings.", "metadata");
    if (Characters(key) > kLongestKey || Characters(value.get_ref<const std::string&>()) > kLongestValue) {
      return Invalid("metadata", absl::StrCat("has an entry that is too long: a key may have ", kLongestKey,
                                              " characters and a value ", kLongestValue, "."));
    }
  }
  request.metadata = found->dump();
  return std::nullopt;
}

std::optional<ApiError> TakeExpiry(const Json& body, BatchRequest& request) {
  const auto found = body.find("output_expires_after");
  if (found == body.end() || found->is_null()) return std::nullopt;
  constexpr absl::string_view kField = "output_expires_after";
  if (!found->is_object()) return MakeError(ErrorName::kWrongType, "`output_expires_after` must be an object.", kField);
  const auto anchor = found->find("anchor");
  if (anchor == found->end() || *anchor != "created_at") return Invalid(kField, "needs the `anchor` \"created_at\".");
  const auto seconds = found->find("seconds");
  if (seconds == found->end() || !seconds->is_number_integer() || *seconds < kShortestExpiry ||
      *seconds > kLongestExpiry) {
    return Invalid(kField, absl::StrCat("needs `seconds` from ", kShortestExpiry, " to ", kLongestExpiry, "."));
  }
  request.output_expires_after = Duration::Seconds(seconds->get<double>());
  return std::nullopt;
}

std::optional<ApiError> TakeWindow(const Json& body, BatchRequest& request) {
  if (auto bad = TakeText(body, "completion_window", request.completion_window)) return bad;
  const std::optional<Duration> window = ReadWindow(request.completion_window);
  if (!window) {
    return Invalid("completion_window",
                   "must be a number with one of the units s, m, h and d, from 1s to 30d, as 24h.");
  }
  request.window = *window;
  return std::nullopt;
}

}  // namespace

std::optional<Endpoint> EndpointOfPath(absl::string_view path) {
  const RouteMatch match = MatchRoute("POST", path);
  if (match.route != Route::kGenerate || path.find_first_of("?#") != absl::string_view::npos) return std::nullopt;
  return match.endpoint;
}

std::optional<Duration> ReadWindow(absl::string_view text) {
  constexpr double kLongest = 30 * 86'400.0;
  if (text.size() < 2) return std::nullopt;
  const absl::string_view digits = text.substr(0, text.size() - 1);
  int64_t count = 0;
  if (digits.find_first_not_of("0123456789") != absl::string_view::npos || !absl::SimpleAtoi(digits, &count)) {
    return std::nullopt;
  }
  const absl::string_view units = "smhd";
  constexpr double kSeconds[] = {1, 60, 3600, 86'400};
  const size_t unit = units.find(text.back());
  if (unit == absl::string_view::npos) return std::nullopt;
  const double seconds = static_cast<double>(count) * kSeconds[unit];
  if (seconds < 1 || seconds > kLongest) return std::nullopt;
  return Duration::Seconds(seconds);
}

std::variant<BatchRequest, ApiError> ReadBatchRequest(absl::string_view body) {
  const Json json = Json::parse(body.begin(), body.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return MakeError(ErrorName::kInvalidJson, "The body is not JSON.");
  if (!json.is_object()) return MakeError(ErrorName::kWrongType, "The body must be a JSON object.");
  if (const std::optional<std::string> key = RepeatedKey(body)) {
    return Invalid(absl::string_view(*key).substr(0, kLongestKey), "occurs twice.");
  }
  BatchRequest request;
  if (auto bad = TakeText(json, "input_file_id", request.input_file_id)) return *std::move(bad);
  if (auto bad = TakeText(json, "endpoint", request.endpoint)) return *std::move(bad);
  const std::optional<Endpoint> endpoint = EndpointOfPath(request.endpoint);
  if (!endpoint) {
    return Invalid("endpoint", absl::StrCat("is ", request.endpoint.substr(0, 100),
                                            ", which Penstock does not route for an engine; /v1/chat/completions, "
                                            "/v1/completions, /v1/embeddings and /v1/responses are usual."));
  }
  // A line of the output file holds a JSON value, and one of the input file no form.
  if (const EndpointTraits traits = TraitsOf(*endpoint); traits.form || *endpoint == Endpoint::kSpeech) {
    return Invalid("endpoint", absl::StrCat("is ", traits.path,
                                            ", which takes a form or answers with sound; the lines "
                                            "of a batch are JSON both ways."));
  }
  if (auto bad = TakeWindow(json, request)) return *std::move(bad);
  if (auto bad = TakeMetadata(json, request)) return *std::move(bad);
  if (auto bad = TakeExpiry(json, request)) return *std::move(bad);
  return request;
}

}  // namespace penstock::jobs
