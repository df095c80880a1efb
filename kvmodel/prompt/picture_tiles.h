// The tiles into which the image processors of model families cut a picture. Pure; O(grids), of which a family has at
// most 136.
//
// The sources are Hugging Face's transformers, in src/transformers: models/llama4/image_processing_llama4_fast.py
// (get_best_fit), image_processing_utils.py (select_best_resolution), models/llava_next/processing_llava_next.py and
// models/llava_onevision/processing_llava_onevision.py (_get_unpadded_features). The model cards of OpenGVLab/InternVL
// (find_closest_aspect_ratio) and openbmb/MiniCPM-V (get_sliced_grid) have the others.
#ifndef PENSTOCK_KVMODEL_PROMPT_PICTURE_TILES_H_
#define PENSTOCK_KVMODEL_PROMPT_PICTURE_TILES_H_

#include <cstdint>

#include "kvmodel/prompt/picture_size.h"

namespace penstock {

struct TileGrid {
  int64_t columns = 1;
  int64_t rows = 1;

  int64_t tiles() const { return columns * rows; }
  bool operator==(const TileGrid&) const = default;
};

// InternVL: of the grids of at most `most` tiles, that of the nearest shape. Of equal ones, the largest that the
// picture half fills.
TileGrid NearestShape(PictureSize size, int64_t side, int64_t most);

// Llama 4: of the grids of at most `most` tiles, the one that shrinks the picture least. Where some shrink it not at
// all, the one that has least to spare. Of equal ones, the smallest.
TileGrid BestCanvas(PictureSize size, int64_t side, int64_t most);

// MiniCPM-V: as many slices as the picture has areas of a slice, one more or one less, in the grid of the nearest
// shape. One tile: the picture is not cut.
TileGrid SliceGrid(PictureSize size, int64_t side, int64_t most);

// The patches of a picture that fills a grid of tiles as well as it can, without the borders that it leaves empty.
struct Patches {
  int64_t columns = 0;
  int64_t rows = 0;

  // Each row ends with a token of its own.
  int64_t tokens() const { return (columns + 1) * rows; }
  bool operator==(const Patches&) const = default;
};

// LLaVA 1.6: tiles of 336 pixels and 24 patches a side, in five grids of two to four tiles.
Patches PatchesOfLlavaNext(PictureSize size);
// LLaVA OneVision: tiles of 384 pixels and 27 patches a side, up to 6 by 6. More patches than nine tiles have are
// merged.
Patches PatchesOfOneVision(PictureSize size);

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_PROMPT_PICTURE_TILES_H_
