// Walks JSON text that is known to be valid, giving byte offsets instead of a document.
//
// The router forwards bodies byte for byte but for spliced fields, so it needs to know where a field stands. Validity
// must have been checked before; on other text the functions stay within bounds and give meaningless
// spans. For small values: a container is passed over before its members are given. Pure, no allocation but for escaped
// keys.
#ifndef PENSTOCK_ROUTER_OPENAI_REQUEST_JSON_CURSOR_H_
#define PENSTOCK_ROUTER_OPENAI_REQUEST_JSON_CURSOR_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

// Half-open byte range of a document.
struct JsonSpan {
  size_t begin = 0;
  size_t end = 0;
  size_t size() const { return end - begin; }
  bool operator==(const JsonSpan&) const = default;
};

// The place of `part`, a view into `document`.
inline JsonSpan SpanIn(absl::string_view document, absl::string_view part) {
  const auto begin = static_cast<size_t>(part.data() - document.data());
  return {begin, begin + part.size()};
}

enum class JsonKind { kObject, kArray, kString, kNumber, kBool, kNull };

// One value: where it stands and what it is.
struct JsonValue {
  absl::string_view document;
  JsonSpan span;

  JsonKind kind() const;
  absl::string_view raw() const { return document.substr(span.begin, span.size()); }
  // The inside of a string literal, escapes unresolved.
  absl::string_view inside() const { return document.substr(span.begin + 1, span.size() - 2); }
  // The text of a string literal.
  std::string Text() const;
  // The integer it is; nullopt for fractions, other types and what exceeds int64.
  std::optional<int64_t> Integer() const;
  bool IsTrue() const { return raw() == "true"; }
};

// The value that starts at or after `from` (leading white space is skipped).
JsonValue ValueAt(absl::string_view document, size_t from);

// Iterates over the members of an object.
class JsonObject {
 public:
  explicit JsonObject(const JsonValue& object);
  struct Member {
    absl::string_view key;  // Escapes resolved; valid until the next call.
    JsonSpan key_span;      // With its quotes.
    JsonValue value;
  };
  std::optional<Member> Next();

 private:
  absl::string_view document_;
  size_t position_;
  std::string unescaped_;
};

// Iterates over the elements of an array.
class JsonArray {
 public:
  explicit JsonArray(const JsonValue& array);
  std::optional<JsonValue> Next();

 private:
  absl::string_view document_;
  size_t position_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_REQUEST_JSON_CURSOR_H_
