#include "router/openai/media/media_parts.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "kvmodel/prompt/encoded_bytes.h"
#include "kvmodel/prompt/sound_length.h"

namespace penstock {
namespace {

// Short members stand before or behind the long one.
constexpr size_t kEnds = 256;
// Bytes of the base64 text that may have to be unescaped. The size of a JPEG stands behind its metadata.
constexpr size_t kHeader = 128 << 10;

bool HasAtEnds(absl::string_view raw, absl::string_view part) {
  if (absl::StrContains(raw.substr(0, kEnds), part)) return true;
  return raw.size() > kEnds && absl::StrContains(raw.substr(raw.size() - std::min(raw.size(), kEnds)), part);
}

bool AsksLowDetail(absl::string_view raw) {
  return raw[0] == '{' && HasAtEnds(raw, "\"detail\"") && HasAtEnds(raw, "\"low\"");
}

// The base64 text in a data URL or in `data`, up to its quote. Empty: there is none.
absl::string_view Base64In(absl::string_view raw) {
  constexpr absl::string_view kCoding = ";base64,";
  constexpr absl::string_view kData = "\"data\"";
  const absl::string_view head = raw.substr(0, kEnds);
  size_t begin = head.find(kCoding);
  if (begin != absl::string_view::npos) {
    begin += kCoding.size();
  } else {
    begin = head.find(kData);
    if (begin == absl::string_view::npos) return {};
    begin = head.find('"', begin + kData.size());
    if (begin == absl::string_view::npos) return {};
    ++begin;
  }
  // The quote is near the end, or the text is short.
  const size_t from = std::max(begin, raw.size() - std::min(raw.size(), kEnds));
  return raw.substr(begin, raw.find('"', from) - begin);
}

// Base64 has one character that JSON may escape. `copy` holds the result where one is.
absl::string_view Unescaped(absl::string_view base64, std::string& copy) {
  const absl::string_view header = base64.substr(0, kHeader);
  if (!absl::StrContains(header, '\\')) return base64;
  copy.reserve(header.size());
  std::copy_if(header.begin(), header.end(), std::back_inserter(copy), [](char c) { return c != '\\'; });
  return copy;
}

}  // namespace

FoundPicture PictureIn(absl::string_view raw) {
  std::string copy;
  return {SizeOfPicture(EncodedBytes(Unescaped(Base64In(raw), copy))), AsksLowDetail(raw)};
}

std::optional<double> SecondsIn(absl::string_view raw) {
  const absl::string_view base64 = Base64In(raw);
  if (base64.empty()) return std::nullopt;
  std::string copy;
  const absl::string_view header = Unescaped(base64, copy);
  const double seconds = SecondsOfSound(EncodedBytes(header));
  // Where the header is a copy, the rest is as dense as it.
  const double whole = header.data() == base64.data()
                           ? 1
                           : static_cast<double>(base64.size()) / static_cast<double>(std::min(base64.size(), kHeader));
  return seconds * whole;
}

SourceKind SourceKindOf(absl::string_view raw) {
  if (HasAtEnds(raw, "\"text\"") || HasAtEnds(raw, "\"content\"")) return SourceKind::kText;
  return HasAtEnds(raw, "\"application/") || HasAtEnds(raw, "\"application\\/") ? SourceKind::kOther
                                                                                : SourceKind::kPicture;
}

}  // namespace penstock
