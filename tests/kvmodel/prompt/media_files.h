// The beginnings of files of pictures and sounds, as bytes and in base64.
#ifndef PENSTOCK_TESTS_KVMODEL_PROMPT_MEDIA_FILES_H_
#define PENSTOCK_TESTS_KVMODEL_PROMPT_MEDIA_FILES_H_

#include <cstdint>
#include <string>

#include "absl/strings/escaping.h"

namespace penstock::media_files {

inline std::string Big(int64_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i) & 0xFF);
  return out;
}

inline std::string Little(int64_t value, int bytes) {
  const std::string big = Big(value, bytes);
  return {big.rbegin(), big.rend()};
}

inline std::string Png(int width, int height) {
  return "\x89PNG\r\n\x1A\n" + Big(13, 4) + "IHDR" + Big(width, 4) + Big(height, 4) + "\x08\x02";
}

inline std::string Gif(int width, int height) { return "GIF89a" + Little(width, 2) + Little(height, 2); }

// With metadata of some bytes before the frame.
inline std::string Jpeg(int width, int height, int metadata) {
  return "\xFF\xD8\xFF\xE1" + Big(metadata + 2, 2) + std::string(static_cast<size_t>(metadata), '\xFF') + "\xFF\xC2" +
         Big(17, 2) + "\x08" + Big(height, 2) + Big(width, 2) + "\x03";
}

inline std::string LossyWebp(int width, int height) {
  return "RIFF" + Little(100, 4) + "WEBPVP8 " + Little(80, 4) + "abc\x9D\x01\x2A" + Little(width, 2) +
         Little(height, 2);
}

inline std::string LosslessWebp(int width, int height) {
  return "RIFF" + Little(100, 4) + "WEBPVP8L" + Little(80, 4) + "\x2F" + Little((height - 1) << 14 | (width - 1), 4);
}

inline std::string ExtendedWebp(int width, int height) {
  return "RIFF" + Little(100, 4) + "WEBPVP8X" + Little(10, 4) + "abcd" + Little(width - 1, 3) + Little(height - 1, 3);
}

// Mono, 16 bits per sample. `list` bytes of notes stand before the sound.
inline std::string Wav(int rate, double seconds, int list) {
  const auto bytes = static_cast<int64_t>(seconds * rate * 2);
  return "RIFF" + Little(bytes + 36, 4) + "WAVEfmt " + Little(16, 4) + Little(1, 2) + Little(1, 2) + Little(rate, 4) +
         Little(rate * 2, 4) + Little(2, 2) + Little(16, 2) + "LIST" + Little(list, 4) +
         std::string(static_cast<size_t>(list), 'x') + "data" + Little(bytes, 4) +
         std::string(static_cast<size_t>(bytes), '\0');
}

inline std::string Base64(const std::string& bytes) { return absl::Base64Escape(bytes); }

}  // namespace penstock::media_files

#endif  // PENSTOCK_TESTS_KVMODEL_PROMPT_MEDIA_FILES_H_
