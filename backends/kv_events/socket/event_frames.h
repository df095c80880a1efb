// The numbers of batches as frames: eight bytes, the highest first. Pure.
#ifndef PENSTOCK_BACKENDS_KV_EVENTS_SOCKET_EVENT_FRAMES_H_
#define PENSTOCK_BACKENDS_KV_EVENTS_SOCKET_EVENT_FRAMES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

// The number of the frame that ends a replay.
inline constexpr uint64_t kReplayEnd = UINT64_MAX;

inline std::string NumberFrame(uint64_t number) {
  std::string frame(8, '\0');
  for (int i = 7; i >= 0; --i, number >>= 8) frame[static_cast<size_t>(i)] = static_cast<char>(number & 0xFF);
  return frame;
}

inline std::optional<uint64_t> NumberOfFrame(std::string_view frame) {
  if (frame.size() != 8) return std::nullopt;
  uint64_t number = 0;
  for (const char byte : frame) number = number << 8 | static_cast<uint8_t>(byte);
  return number;
}

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_KV_EVENTS_SOCKET_EVENT_FRAMES_H_
