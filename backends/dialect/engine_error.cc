#include "backends/dialect/engine_error.h"

#include <simdjson.h>

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "backends/dialect/json_scanner.h"
#include "base/utf8.h"

namespace penstock {
namespace {

constexpr size_t kUnknownLimit = 2000;
constexpr size_t kMessageLimit = 16 << 10;
constexpr size_t kWordLimit = 256;

// The members of an object that tell of an error.
struct Members {
  std::string message, type, param, code;
  std::string error_type;  // TGI has it beside an `error` that is a text.
  int status = 0;          // 0: none.
};

// The members of a body.
struct Body {
  Members own;
  std::optional<Members> nested;     // `error` is an object.
  std::optional<std::string> error;  // `error` is a text.
  std::optional<std::string> detail;
};

void Cut(size_t longest, std::string* text) {
  if (text->size() <= longest) return;
  for (int back = 0; back < 3 && ContinuesUtf8(static_cast<unsigned char>((*text)[longest])); ++back) --longest;
  text->resize(longest);
}

bool TakeText(JsonScanner& scanner, size_t longest, std::string* text) {
  if (!scanner.CopyString(text)) return false;
  Cut(longest, text);
  return true;
}

// A number is a status, also as text. Any other code is a word.
bool TakeCode(JsonScanner& scanner, Members* members) {
  int64_t number = 0;
  if (scanner.Peek() != '"') {
    if (!scanner.CopyInt(&number)) return false;
  } else {
    std::string text;
    if (!TakeText(scanner, kWordLimit, &text)) return false;
    if (!absl::SimpleAtoi(text, &number)) members->code = std::move(text);
  }
  if (number >= 400 && number <= 599) members->status = static_cast<int>(number);
  return true;
}

bool TakeMember(JsonScanner& scanner, absl::string_view key, Members* members) {
  if (key == "message") return TakeText(scanner, kMessageLimit, &members->message);
  if (key == "type") return TakeText(scanner, kWordLimit, &members->type);
  if (key == "param") return TakeText(scanner, kWordLimit, &members->param);
  if (key == "error_type") return TakeText(scanner, kWordLimit, &members->error_type);
  if (key == "code") return TakeCode(scanner, members);
  return scanner.Skip();
}

bool TakeError(JsonScanner& scanner, Body* body) {
  if (scanner.Peek() == '"') return TakeText(scanner, kMessageLimit, &body->error.emplace());
  if (scanner.Peek() != '{') return scanner.Skip();
  Members& nested = body->nested.emplace();
  return scanner.ForEachMember([&](absl::string_view key) { return TakeMember(scanner, key, &nested); });
}

// FastAPI sends {"detail": "..."} or {"detail": [{"msg": ".."}, ..]}.
bool TakeDetail(JsonScanner& scanner, Body* body) {
  std::string& detail = body->detail.emplace();
  if (scanner.Peek() == '"') return TakeText(scanner, kMessageLimit, &detail);
  absl::string_view raw;
  if (!scanner.TakeRaw(&raw)) return false;
  detail = std::string(raw.substr(0, kUnknownLimit + 1));
  Cut(kUnknownLimit, &detail);
  return true;
}

std::optional<Body> ReadBody(absl::string_view text) {
  if (!simdjson::validate_utf8(text.data(), text.size())) return std::nullopt;
  Body body;
  JsonScanner scanner(text);
  const bool object = scanner.WholeObject([&](absl::string_view key) {
    if (key == "error") return TakeError(scanner, &body);
    if (key == "detail") return TakeDetail(scanner, &body);
    return TakeMember(scanner, key, &body.own);
  });
  if (!object) return std::nullopt;
  return body;
}

void Fill(Members members, EngineError* error) {
  error->message = std::move(members.message);
  error->type = std::move(members.type);
  error->param = std::move(members.param);
  error->code = std::move(members.code);
  if (members.status != 0) error->status = members.status;
}

void FillTgi(Body& body, bool inside_success, EngineError* error) {
  error->message = std::move(*body.error);
  error->type = std::move(body.own.error_type);
  error->code = std::move(body.own.code);
  if (inside_success && error->type == "overloaded") error->status = 429;
  if (inside_success && error->type == "validation") error->status = 422;
  if (body.own.status != 0) error->status = body.own.status;
}

// The text of a body that is one JSON string.
std::optional<std::string> OnlyString(absl::string_view text) {
  JsonScanner scanner(text);
  std::string only;
  const bool string = scanner.Peek() == '"' && scanner.CopyString(&only) && scanner.Peek() == '\0';
  if (!string || !simdjson::validate_utf8(only)) return std::nullopt;
  Cut(kUnknownLimit, &only);
  return only;
}

EngineError ParseShapes(int status, bool inside_success, absl::string_view body) {
  EngineError error;
  error.status = status;
  error.in_answer = inside_success;
  const absl::string_view text = absl::StripAsciiWhitespace(body);
  if (std::optional<Body> read = ReadBody(text)) {
    if (read->nested) {
      Fill(*std::move(read->nested), &error);
    } else if (read->error) {
      FillTgi(*read, inside_success, &error);
    } else if (read->detail) {
      error.message = *std::move(read->detail);
    } else {
      Fill(std::move(read->own), &error);
    }
  } else if (auto only = OnlyString(text)) {
    error.message = *std::move(only);
    return error;
  }
  error.unknown_shape = error.message.empty();
  if (error.unknown_shape && !inside_success) {
    error.message = std::string(text.substr(0, kUnknownLimit + 1));
    Cut(kUnknownLimit, &error.message);
  }
  return error;
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
  return ParseShapes(inside_success ? 500 : http_status, inside_success, body);
}

EngineError ErrorInAnswer(absl::string_view body) { return ParseShapes(502, /*inside_success=*/true, body); }

}  // namespace penstock
