#include "kvmodel/prompt/media_counts.h"

namespace penstock {

void MediaCounts::AddPicture(std::optional<PictureSize> size, bool low_detail) {
  if (!size) {
    ++unsized;
    return;
  }
  ++pictures;
  ByFamily& tokens = low_detail ? low : plain;
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] += PictureTokens(static_cast<MediaFamily>(i), *size);
}

void MediaCounts::Add(const MediaCounts& more) {
  for (size_t i = 0; i < plain.size(); ++i) {
    plain[i] += more.plain[i];
    low[i] += more.low[i];
  }
  pictures += more.pictures;
  unsized += more.unsized;
  seconds += more.seconds;
  opaque += more.opaque;
  embedded += more.embedded;
}

}  // namespace penstock
