// The pictures, sounds and other parts of a prompt that are no text. Pure.
//
// The edge adds the parts before it knows the model, so the tokens of pictures are summed by the rule of each family.
#ifndef PENSTOCK_KVMODEL_MEDIA_COUNTS_H_
#define PENSTOCK_KVMODEL_MEDIA_COUNTS_H_

#include <array>
#include <cstdint>
#include <optional>

#include "kvmodel/prompt/media_rules.h"

namespace penstock {

struct MediaCounts {
  using ByFamily = std::array<int64_t, kMediaFamilies>;

  ByFamily plain{};      // Tokens of pictures of known size.
  ByFamily low{};        // The same for pictures that ask for low detail. Many engines ignore that wish.
  int64_t pictures = 0;  // Those of known size.
  int64_t unsized = 0;   // Pictures whose size is unknown: remote ones, and headers that nobody can read.
  double seconds = 0;    // Sound.
  int64_t opaque = 0;    // Remote sounds, video, files: nothing tells their tokens.
  int64_t embedded = 0;  // Bytes of prompts that are tensors (prompt_embeds). A token has a row of unknown size.

  // The size, if it is known.
  void AddPicture(std::optional<PictureSize> size, bool low_detail);
  // The number of the parts is bounded by the body, so no sum overflows.
  void Add(const MediaCounts& more);
  bool Any() const { return pictures > 0 || unsized > 0 || seconds > 0 || opaque > 0 || embedded > 0; }

  bool operator==(const MediaCounts&) const = default;
};

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_MEDIA_COUNTS_H_
