#include "kvmodel/prompt/picture_tiles.h"

#include <gtest/gtest.h>

#include <ostream>

namespace penstock {
void PrintTo(const TileGrid& grid, std::ostream* out) { *out << grid.columns << " by " << grid.rows; }
void PrintTo(const Patches& patches, std::ostream* out) { *out << patches.columns << " by " << patches.rows; }

namespace {

// The grids of the families' own processors for these sizes.
TEST(PictureTiles, InternVlTakesTheNearestShapeThatThePictureHalfFills) {
  EXPECT_EQ(NearestShape({448, 448}, 448, 12), (TileGrid{1, 1}));
  EXPECT_EQ(NearestShape({1344, 1344}, 448, 12), (TileGrid{3, 3}));
  EXPECT_EQ(NearestShape({1344, 896}, 448, 12), (TileGrid{3, 2}));
  EXPECT_EQ(NearestShape({300, 3000}, 448, 12), (TileGrid{1, 10}));
}

TEST(PictureTiles, Llama4TakesTheCanvasThatShrinksThePictureLeast) {
  EXPECT_EQ(BestCanvas({300, 200}, 336, 16), (TileGrid{1, 1}));
  EXPECT_EQ(BestCanvas({448, 448}, 336, 16), (TileGrid{2, 2}));
  EXPECT_EQ(BestCanvas({1024, 768}, 336, 16), (TileGrid{4, 3}));
  EXPECT_EQ(BestCanvas({1920, 1080}, 336, 16), (TileGrid{5, 3}));
  EXPECT_EQ(BestCanvas({500, 3000}, 336, 16), (TileGrid{2, 8}));
  EXPECT_EQ(BestCanvas({100, 1000}, 336, 16), (TileGrid{1, 3}));
}

TEST(PictureTiles, MiniCpmTakesOneSliceMoreOrLessForABetterShape) {
  EXPECT_EQ(SliceGrid({448, 448}, 448, 9), (TileGrid{1, 1}));
  EXPECT_EQ(SliceGrid({640, 480}, 448, 9), (TileGrid{2, 1}));
  EXPECT_EQ(SliceGrid({1920, 1080}, 448, 9), (TileGrid{4, 2})) << "its area has nine slices, whose grid is square";
  EXPECT_EQ(SliceGrid({500, 3000}, 448, 9), (TileGrid{1, 7}));
  EXPECT_EQ(SliceGrid({4000, 3000}, 448, 9), (TileGrid{3, 3}));
}

TEST(PictureTiles, LlavaLeavesEmptyBordersOut) {
  EXPECT_EQ(PatchesOfLlavaNext({672, 672}), (Patches{48, 48}));
  EXPECT_EQ(PatchesOfLlavaNext({1024, 768}), (Patches{48, 36}));
  EXPECT_EQ(PatchesOfLlavaNext({3000, 500}), (Patches{72, 12}));
  EXPECT_EQ(PatchesOfLlavaNext({500, 3000}), (Patches{12, 72}));
  EXPECT_EQ(PatchesOfLlavaNext({300, 200}), (Patches{36, 24})) << "the smallest grid of those that keep all of it";
}

TEST(PictureTiles, OneVisionMergesPatchesAboveNineTiles) {
  EXPECT_EQ(PatchesOfOneVision({672, 672}).tokens(), 2970);
  EXPECT_EQ(PatchesOfOneVision({1024, 768}).tokens(), 3996);
  EXPECT_EQ(PatchesOfOneVision({4000, 3000}).tokens(), 6580);
  EXPECT_EQ(PatchesOfOneVision({1920, 1080}).tokens(), 6540);
}

}  // namespace
}  // namespace penstock
