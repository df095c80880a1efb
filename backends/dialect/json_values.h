// Optional members of the JSON documents of engines. A member of the wrong type counts as absent. Pure.
#ifndef PENSTOCK_BACKENDS_DIALECT_JSON_VALUES_H_
#define PENSTOCK_BACKENDS_DIALECT_JSON_VALUES_H_

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/string_view.h"
#include "base/json_string.h"
#include "base/utf8.h"

namespace penstock {

using EngineJson = nlohmann::json;

// A document of an engine's pages is shorter. A longer one would hold its loop for more than 10 ms.
inline constexpr size_t kLongestEngineJson = 1 << 20;
// The library copies and compares documents by recursion.
inline constexpr int kDeepestEngineJson = 128;
// U+FFFD, for a character that cannot be read.
inline constexpr char kReplacement[] = "\xEF\xBF\xBD";

// The text with U+FFFD for surrogates that stand alone and for bytes that are not UTF-8.
inline std::string MendedText(absl::string_view json) {
  std::string mended;
  const char* at = json.data();
  const char* const end = at + json.size();
  while (at < end) {
    size_t length = 1;
    bool good = true;
    if (*at == '\\') {
      const JsonEscape escape = ReadJsonEscape(at, end);
      length = static_cast<size_t>(escape.length);
      good = escape.kind != JsonEscape::Kind::kLone;
    } else {
      const auto* const bytes = reinterpret_cast<const unsigned char*>(at);
      const int size = ReadUtf8(bytes, bytes + (end - at)).length;
      good = size > 0;
      if (good) length = static_cast<size_t>(size);
    }
    if (good) {
      mended.append(at, length);
    } else {
      mended.append(kReplacement);
    }
    at += length;
  }
  return mended;
}

// True: arrays and objects lie in each other deeper than kDeepestEngineJson.
inline bool IsTooDeep(absl::string_view json) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '[' || c == '{')) {
      if (++depth > kDeepestEngineJson) return true;
    } else if (!quoted && (c == ']' || c == '}')) {
      --depth;
    }
  }
  return false;
}

// The document. is_discarded() when `body` is not JSON, longer than kLongestEngineJson or deeper than
// kDeepestEngineJson. One broken character does not make a text unreadable: U+FFFD stands for it.
inline EngineJson ParseEngineJson(absl::string_view body) {
  if (body.size() > kLongestEngineJson || IsTooDeep(body)) return EngineJson(EngineJson::value_t::discarded);
  EngineJson document = EngineJson::parse(body.data(), body.data() + body.size(), nullptr, false);
  if (!document.is_discarded()) return document;
  const std::string mended = MendedText(body);
  return mended == body || IsTooDeep(mended) ? document : EngineJson::parse(mended, nullptr, false);
}

inline const EngineJson& NullJson() {
  static const EngineJson null;
  return null;
}

// The member, or null.
inline const EngineJson& Member(const EngineJson& object, const char* key) {
  if (!object.is_object()) return NullJson();
  const auto it = object.find(key);
  return it == object.end() ? NullJson() : *it;
}

// The array itself; null, which has no elements, for all else.
inline const EngineJson& ElementsOf(const EngineJson& value) { return value.is_array() ? value : NullJson(); }

inline std::string MemberText(const EngineJson& object, const char* key) {
  const EngineJson& value = Member(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

// The number cut to an integer. `missing` when it is absent, not a number, or 9e15 and larger.
inline int64_t MemberInt(const EngineJson& object, const char* key, int64_t missing = 0) {
  const EngineJson& value = Member(object, key);
  if (!value.is_number()) return missing;
  const double number = value.get<double>();
  return std::isfinite(number) && std::fabs(number) < 9e15 ? static_cast<int64_t>(number) : missing;
}

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_JSON_VALUES_H_
