// The width and height of a picture from the header of its file. Pure; no picture is decoded.
#ifndef PENSTOCK_KVMODEL_PICTURE_SIZE_H_
#define PENSTOCK_KVMODEL_PICTURE_SIZE_H_

#include <cstdint>
#include <optional>

#include "kvmodel/prompt/encoded_bytes.h"

namespace penstock {

// In pixels, each from 1 to kMostPixels.
struct PictureSize {
  int64_t width = 0;
  int64_t height = 0;

  bool operator==(const PictureSize&) const = default;
};

// The format PNG allows longer sides, which no decoder reads.
inline constexpr int64_t kMostPixels = 65535;

// Reads PNG, GIF, WebP and JPEG. Nothing: another format, a header that is cut, or an absurd size. A JPEG has its size
// behind its metadata, so this hops over at most 64 segments.
std::optional<PictureSize> SizeOfPicture(const EncodedBytes& file);

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_PICTURE_SIZE_H_
