#include "backends/dialect/engine_error.h"

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

namespace penstock {
namespace {

using Json = nlohmann::json;
constexpr size_t kMessageLimit = 2000;

std::string Text(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::string Dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, kMessageLimit);
}

// A number is a status, also as text. Any other code is a word.
void ReadCode(const Json& object, EngineError* error) {
  const auto it = object.find("code");
  if (it == object.end()) return;
  int number = 0;
  if (it->is_number_integer()) {
    number = it->get<int>();
  } else if (it->is_string() && !absl::SimpleAtoi(it->get<std::string>(), &number)) {
    error->code = it->get<std::string>();
  }
  if (number >= 400 && number <= 599) error->status = number;
}

void ReadObject(const Json& object, EngineError* error) {
  error->message = Text(object, "message");
  error->type = Text(object, "type");
  error->param = Text(object, "param");
  ReadCode(object, error);
}

void ReadErrorType(const Json& body, EngineError* error, bool inside_success) {
  error->type = Text(body, "error_type");
  if (!inside_success) return;
  if (error->type == "overloaded") error->status = 429;
  if (error->type == "validation") error->status = 422;
}

// FastAPI sends {"detail": "..."} or {"detail": [{"msg": ".."}, ..]}.
std::string DetailMessage(const Json& detail) { return detail.is_string() ? detail.get<std::string>() : Dump(detail); }

void ReadBody(const Json& body, EngineError* error, bool inside_success) {
  const auto nested = body.find("error");
  if (nested != body.end() && nested->is_object()) {
    ReadObject(*nested, error);
  } else if (nested != body.end() && nested->is_string()) {
    error->message = nested->get<std::string>();
    ReadErrorType(body, error, inside_success);
    ReadCode(body, error);
  } else if (const auto detail = body.find("detail"); detail != body.end()) {
    error->message = DetailMessage(*detail);
  } else {
    ReadObject(body, error);
  }
}

}  // namespace

EngineError AbortedByEngine() {
  EngineError error;
  error.status = 500;
  error.message = "The engine aborted the request.";
  return error;
}

EngineError ParseEngineError(int http_status, absl::string_view body) {
  const bool inside_success = http_status < 400;
  EngineError error;
  error.status = inside_success ? 500 : http_status;
  const Json parsed = Json::parse(body.data(), body.data() + body.size(), nullptr, false);
  if (parsed.is_object()) {
    ReadBody(parsed, &error, inside_success);
    error.unknown_shape = error.message.empty();
    if (error.unknown_shape) error.message = Dump(parsed);
  } else if (parsed.is_string()) {
    error.message = parsed.get<std::string>().substr(0, kMessageLimit);
  } else {
    error.message = std::string(absl::StripAsciiWhitespace(body.substr(0, kMessageLimit)));
    error.unknown_shape = true;
  }
  return error;
}

}  // namespace penstock
