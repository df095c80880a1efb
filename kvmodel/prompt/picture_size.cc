#include "kvmodel/prompt/picture_size.h"

namespace penstock {
namespace {

using MaybeSize = std::optional<PictureSize>;

constexpr int kMostSegments = 64;

MaybeSize Checked(int64_t width, int64_t height) {
  const bool good = width >= 1 && height >= 1 && width <= kMostPixels && height <= kMostPixels;
  return good ? MaybeSize({width, height}) : std::nullopt;
}

// Behind the name of a frame come its length, a precision, the height and the width.
MaybeSize SizeOfJpeg(const EncodedBytes& file) {
  size_t at = 2;
  for (int i = 0; i < kMostSegments; ++i) {
    if (file.At(at) != 0xFF) return std::nullopt;
    const int marker = file.At(at + 1);
    const int64_t length = file.BigEndian(at + 2, 2);
    if (marker < 0 || length < 2) return std::nullopt;
    const bool table = marker == 0xC4 || marker == 0xC8 || marker == 0xCC;
    if (marker >= 0xC0 && marker <= 0xCF && !table)
      return Checked(file.BigEndian(at + 7, 2), file.BigEndian(at + 5, 2));
    at += 2 + static_cast<size_t>(length);
  }
  return std::nullopt;
}

// A lossy picture, a lossless one, or a container with a canvas.
MaybeSize SizeOfWebp(const EncodedBytes& file) {
  if (file.Has(12, "VP8 ")) {
    const int64_t width = file.LittleEndian(26, 2);
    const int64_t height = file.LittleEndian(28, 2);
    return width < 0 || height < 0 ? std::nullopt : Checked(width & 0x3FFF, height & 0x3FFF);
  }
  if (file.Has(12, "VP8L")) {
    const int64_t bits = file.LittleEndian(21, 4);
    return bits < 0 ? std::nullopt : Checked((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1);
  }
  if (!file.Has(12, "VP8X")) return std::nullopt;
  const int64_t width = file.LittleEndian(24, 3);
  const int64_t height = file.LittleEndian(27, 3);
  return width < 0 || height < 0 ? std::nullopt : Checked(width + 1, height + 1);
}

}  // namespace

std::optional<PictureSize> SizeOfPicture(const EncodedBytes& file) {
  if (file.BigEndian(0, 2) == 0xFFD8) return SizeOfJpeg(file);
  if (file.Has(1, "PNG\r\n")) return Checked(file.BigEndian(16, 4), file.BigEndian(20, 4));
  if (file.Has(0, "GIF8")) return Checked(file.LittleEndian(6, 2), file.LittleEndian(8, 2));
  const bool webp = file.Has(0, "RIFF") && file.Has(8, "WEBP");
  return webp ? SizeOfWebp(file) : std::nullopt;
}

}  // namespace penstock
