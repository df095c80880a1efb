#include "kvmodel/prompt/sound_length.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace penstock {
namespace {

constexpr double kBytesPerSecond = 8000;  // 64 kbit/s.
constexpr int kMostChunks = 16;
// kbit/s of MPEG-1 and MPEG-2 in layer III, by the index in the header of a frame. Zero: free or reserved.
constexpr std::array<int, 16> kRates1 = {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0};
constexpr std::array<int, 16> kRates2 = {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0};

// Chunks have a name and a size. `fmt ` comes before `data`, and others may stand between.
double SecondsOfWav(const EncodedBytes& file) {
  int64_t rate = 0;
  size_t at = 12;
  for (int i = 0; i < kMostChunks; ++i) {
    const int64_t size = file.LittleEndian(at + 4, 4);
    if (size < 0) break;
    if (file.Has(at, "fmt ")) rate = file.LittleEndian(at + 16, 4);
    if (file.Has(at, "data")) {
      // A recorder that streams leaves an absurd size.
      const int64_t there = static_cast<int64_t>(file.size()) - static_cast<int64_t>(at) - 8;
      if (rate > 0) return static_cast<double>(std::min(size, there)) / static_cast<double>(rate);
      break;
    }
    at += 8 + static_cast<size_t>(size) + static_cast<size_t>(size % 2);
  }
  return static_cast<double>(file.size()) / kBytesPerSecond;
}

// An ID3 tag may come first; its size has seven bits per byte.
double SecondsOfMp3(const EncodedBytes& file) {
  size_t at = 0;
  if (file.Has(0, "ID3")) {
    at = 10;
    for (size_t i = 0; i < 4; ++i) at += static_cast<size_t>(std::max(file.At(6 + i), 0)) << (7 * (3 - i));
  }
  const double bytes = at < file.size() ? static_cast<double>(file.size() - at) : 0;
  const int64_t head = file.BigEndian(at, 3);
  if (head < 0 || (head & 0xFFE600) != 0xFFE200) return bytes / kBytesPerSecond;
  const bool first_version = (head & 0x1800) == 0x1800;
  const int rate = (first_version ? kRates1 : kRates2)[static_cast<size_t>(head >> 4 & 0xF)];
  return bytes / (rate > 0 ? rate * 125.0 : kBytesPerSecond);
}

}  // namespace

double SecondsOfSound(const EncodedBytes& file) {
  if (file.Has(0, "RIFF") && file.Has(8, "WAVE")) return SecondsOfWav(file);
  const bool frame = (file.BigEndian(0, 2) & 0xFFE6) == 0xFFE2 && file.At(0) == 0xFF;
  return frame || file.Has(0, "ID3") ? SecondsOfMp3(file) : static_cast<double>(file.size()) / kBytesPerSecond;
}

}  // namespace penstock
