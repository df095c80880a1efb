// Frames of HTTP/2 as bytes, and the frames among the bytes of a router.
#ifndef PENSTOCK_TESTS_HTTP_HTTP2_FRAMES_H_
#define PENSTOCK_TESTS_HTTP_HTTP2_FRAMES_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace penstock::http2 {

enum Kind : uint8_t {
  kDataFrame = 0,
  kHeadersFrame = 1,
  kPriorityFrame = 2,
  kResetFrame = 3,
  kSettingsFrame = 4,
  kPingFrame = 6,
  kGoAwayFrame = 7,
  kWindowFrame = 8,
  kContinuationFrame = 9,
};
inline constexpr uint8_t kEndStream = 1;
inline constexpr uint8_t kAcknowledged = 1;
inline constexpr uint8_t kEndHeaders = 4;

struct FrameText {
  uint8_t kind = 0;
  uint8_t flags = 0;
  uint32_t stream = 0;
  std::string payload;
};

inline std::string Number(uint32_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xff);
  return text;
}

inline uint32_t NumberAt(absl::string_view bytes, size_t at, size_t size) {
  uint32_t value = 0;
  for (const char c : bytes.substr(at, size)) value = value << 8 | static_cast<uint8_t>(c);
  return value;
}

inline std::string FrameOf(uint8_t kind, uint8_t flags, uint32_t stream, absl::string_view payload) {
  return absl::StrCat(Number(static_cast<uint32_t>(payload.size()), 3), std::string(1, static_cast<char>(kind)),
                      std::string(1, static_cast<char>(flags)), Number(stream, 4), payload);
}

// A field that no table keeps. Up to 126 bytes each.
inline std::string Literal(absl::string_view name, absl::string_view value) {
  return absl::StrCat(std::string(1, '\0'), Number(static_cast<uint32_t>(name.size()), 1), name,
                      Number(static_cast<uint32_t>(value.size()), 1), value);
}

inline std::string RequestFields(absl::string_view method, absl::string_view path) {
  return absl::StrCat(Literal(":method", method), Literal(":path", path), Literal(":scheme", "http"),
                      Literal(":authority", "p"));
}

inline std::vector<FrameText> FramesIn(absl::string_view bytes) {
  std::vector<FrameText> frames;
  while (bytes.size() >= 9) {
    const size_t size = NumberAt(bytes, 0, 3);
    frames.push_back({static_cast<uint8_t>(bytes[3]), static_cast<uint8_t>(bytes[4]), NumberAt(bytes, 5, 4),
                      std::string(bytes.substr(9, size))});
    bytes.remove_prefix(std::min(bytes.size(), 9 + size));
  }
  return frames;
}

}  // namespace penstock::http2

#endif  // PENSTOCK_TESTS_HTTP_HTTP2_FRAMES_H_
