#include "kvmodel/prompt/picture_tiles.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace penstock {
namespace {

double Wide(PictureSize size) { return static_cast<double>(size.width); }
double High(PictureSize size) { return static_cast<double>(size.height); }
double Shape(PictureSize size) { return Wide(size) / High(size); }
double Shape(TileGrid grid) { return static_cast<double>(grid.columns) / static_cast<double>(grid.rows); }

// Calls `look` with the grids of so many tiles, the narrow ones first.
template <class Look>
void ForGrids(int64_t tiles, const Look& look) {
  for (int64_t columns = 1; columns <= tiles; ++columns) {
    if (tiles % columns == 0) look(TileGrid{columns, tiles / columns});
  }
}

// The times by which the picture may grow until it fills the grid at one side.
double ScaleTo(PictureSize size, TileGrid grid, int64_t side) {
  return std::min(static_cast<double>(grid.columns * side) / Wide(size),
                  static_cast<double>(grid.rows * side) / High(size));
}

// The grid that keeps most of the picture's pixels, and of equal ones the smallest.
class FullestGrid {
 public:
  FullestGrid(PictureSize size, int64_t side) : size_(size), side_(side) {}

  void Look(TileGrid grid) {
    const double scale = ScaleTo(size_, grid, side_);
    const double shrunk = std::floor(Wide(size_) * scale) * std::floor(High(size_) * scale);
    const double kept = std::min(shrunk, Wide(size_) * High(size_));
    if (kept < most_ || (kept == most_ && grid.tiles() >= best_.tiles())) return;
    most_ = kept;
    best_ = grid;
  }
  TileGrid best() const { return best_; }

 private:
  const PictureSize size_;
  const int64_t side_;
  double most_ = -1;
  TileGrid best_;
};

// The patches of the grid that the picture covers.
Patches Covered(PictureSize size, TileGrid grid, int64_t patches) {
  Patches covered{grid.columns * patches, grid.rows * patches};
  const auto columns = static_cast<double>(covered.columns);
  const auto rows = static_cast<double>(covered.rows);
  const bool wider = Shape(size) > columns / rows;
  int64_t& side = wider ? covered.rows : covered.columns;
  const double filled = wider ? High(size) * (columns / Wide(size)) : Wide(size) * (rows / High(size));
  // Rounding may leave a whole number a little below itself.
  constexpr double kRounding = 1e-7;
  side -= (side - static_cast<int64_t>(filled + kRounding)) / 2 * 2;
  return covered;
}

}  // namespace

TileGrid NearestShape(PictureSize size, int64_t side, int64_t most) {
  TileGrid best;
  double nearest = std::abs(Shape(size) - 1);
  for (int64_t tiles = 2; tiles <= most; ++tiles) {
    const bool filled = Wide(size) * High(size) > 0.5 * static_cast<double>(side * side * tiles);
    ForGrids(tiles, [&](TileGrid grid) {
      const double distance = std::abs(Shape(size) - Shape(grid));
      if (distance > nearest || (distance == nearest && !filled)) return;
      nearest = distance;
      best = grid;
    });
  }
  return best;
}

TileGrid BestCanvas(PictureSize size, int64_t side, int64_t most) {
  TileGrid best;
  double best_scale = ScaleTo(size, best, side);
  for (int64_t tiles = 2; tiles <= most; ++tiles) {
    ForGrids(tiles, [&](TileGrid grid) {
      const double scale = ScaleTo(size, grid, side);
      if (best_scale >= 1 ? scale < 1 || scale >= best_scale : scale <= best_scale) return;
      best_scale = scale;
      best = grid;
    });
  }
  return best;
}

TileGrid SliceGrid(PictureSize size, int64_t side, int64_t most) {
  const double areas = std::ceil(Wide(size) * High(size) / static_cast<double>(side * side));
  if (areas <= 1) return {};
  const auto middle = static_cast<int64_t>(std::min(areas, static_cast<double>(most)));
  TileGrid best;
  double nearest = std::numeric_limits<double>::infinity();
  for (int64_t tiles = std::max<int64_t>(2, middle - 1); tiles <= std::min(most, middle + 1); ++tiles) {
    ForGrids(tiles, [&](TileGrid grid) {
      const double ratio = Shape(size) / Shape(grid);
      const double distance = std::max(ratio, 1 / ratio);
      if (distance >= nearest) return;
      nearest = distance;
      best = grid;
    });
  }
  return best;
}

Patches PatchesOfLlavaNext(PictureSize size) {
  constexpr TileGrid kGrids[] = {{2, 1}, {1, 2}, {2, 2}, {1, 3}, {3, 1}};
  FullestGrid fullest(size, 336);
  for (const TileGrid grid : kGrids) fullest.Look(grid);
  return Covered(size, fullest.best(), 24);
}

Patches PatchesOfOneVision(PictureSize size) {
  constexpr int64_t kPatches = 27;
  constexpr int64_t kMostTiles = 9;
  FullestGrid fullest(size, 384);
  for (int64_t rows = 1; rows <= 6; ++rows) {
    for (int64_t columns = 1; columns <= 6; ++columns) fullest.Look({columns, rows});
  }
  Patches patches = Covered(size, fullest.best(), kPatches);
  const auto all = static_cast<double>(patches.columns * patches.rows);
  const double ratio = std::sqrt(all / static_cast<double>(kMostTiles * kPatches * kPatches));
  if (ratio <= 1.1) return patches;
  return {static_cast<int64_t>(static_cast<double>(patches.columns) / ratio),
          static_cast<int64_t>(static_cast<double>(patches.rows) / ratio)};
}

}  // namespace penstock
