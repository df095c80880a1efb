#include "router/page/json_writer.h"

#include "base/json_string.h"
#include "base/utf8.h"

namespace penstock {
namespace {

constexpr const char* kReplacement = "\xEF\xBF\xBD";

// The bytes of `text` as UTF-8.
std::string ValidUtf8(absl::string_view text) {
  std::string valid;
  const auto* at = reinterpret_cast<const unsigned char*>(text.data());
  const auto* end = at + text.size();
  while (at < end) {
    const Utf8Character next = ReadUtf8(at, end);
    if (next.length == 0) {
      valid += kReplacement;
      ++at;
    } else {
      valid.append(reinterpret_cast<const char*>(at), static_cast<size_t>(next.length));
      at += next.length;
    }
  }
  return valid;
}

}  // namespace

void AppendQuoted(absl::string_view text, size_t most, std::string* out) {
  bool ascii = text.size() <= most;
  for (size_t i = 0; ascii && i < text.size(); ++i) ascii = static_cast<unsigned char>(text[i]) < 0x80;
  *out += '"';
  AppendJsonEscaped(ascii ? text : absl::string_view(ValidUtf8(text.substr(0, most))), out);
  if (text.size() > most) *out += "…";
  *out += '"';
}

}  // namespace penstock
