#include "kvmodel/prompt/media_rules.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "kvmodel/prompt/picture_tiles.h"

namespace penstock {
namespace {

constexpr int64_t kMostPictureTokens = 20'000;
constexpr PictureSize kPhoto{1024, 768};

// The first row whose part is in the name counts.
struct NamedFamily {
  absl::string_view part;
  MediaFamily family;
};
constexpr NamedFamily kNames[] = {
    {"qwen3-vl", MediaFamily::kQwen3},
    {"qwen3vl", MediaFamily::kQwen3},
    {"qwen2-vl", MediaFamily::kQwen},
    {"qwen2.5-vl", MediaFamily::kQwen},
    {"qwen2.5vl", MediaFamily::kQwen},
    {"qwen2vl", MediaFamily::kQwen},
    {"qwen2-audio", MediaFamily::kQwen},
    {"qwen2.5-omni", MediaFamily::kQwen},
    {"qwen3-omni", MediaFamily::kQwen3},
    {"pixtral", MediaFamily::kPixtral},
    {"mistral-small-3", MediaFamily::kMistral},
    {"ministral-3", MediaFamily::kMistral},
    {"llava-v1.6", MediaFamily::kLlavaNext},
    {"llava-next", MediaFamily::kLlavaNext},
    {"onevision", MediaFamily::kOneVision},
    {"llava", MediaFamily::kLlava},
    {"internvl", MediaFamily::kInternVl},
    {"minicpm-v", MediaFamily::kMiniCpm},
    {"minicpm-o", MediaFamily::kMiniCpm},
    {"gemma-3", MediaFamily::kGemma},
    {"gemma3", MediaFamily::kGemma},
    {"llama-4", MediaFamily::kLlama4},
    {"ultravox", MediaFamily::kUltravox},
    {"voxtral", MediaFamily::kVoxtral},
};

double Area(PictureSize size) { return static_cast<double>(size.width) * static_cast<double>(size.height); }

struct Sides {
  double width;
  double height;
};
Sides Scaled(PictureSize size, double factor) {
  return {static_cast<double>(size.width) * factor, static_cast<double>(size.height) * factor};
}

// Each side is rounded to squares, and the area then brought within bounds of tokens.
double RoundedSquares(PictureSize size, double side, double least, double most) {
  double columns = std::max(1.0, std::round(static_cast<double>(size.width) / side));
  double rows = std::max(1.0, std::round(static_cast<double>(size.height) / side));
  const double tokens = Area(size) / (side * side);
  if (columns * rows > most) {
    const Sides small = Scaled(size, std::sqrt(most / tokens) / side);
    columns = std::max(1.0, std::floor(small.width));
    rows = std::max(1.0, std::floor(small.height));
  } else if (columns * rows < least) {
    const Sides large = Scaled(size, std::sqrt(least / tokens) / side);
    columns = std::ceil(large.width);
    rows = std::ceil(large.height);
  }
  return columns * rows;
}

// The longer side is shrunk to a bound; parts of squares count. Each row of squares ends with a token of its own.
double RowsOfSquares(PictureSize size, double side, double longest) {
  const auto longer = static_cast<double>(std::max(size.width, size.height));
  const Sides fitting = Scaled(size, std::min(1.0, longest / longer));
  return (std::ceil(fitting.width / side) + 1) * std::ceil(fitting.height / side);
}

// The whole picture, and its tiles where there are several.
double WithWhole(TileGrid grid, double of_tile) {
  const auto tiles = static_cast<double>(grid.tiles());
  return of_tile * (tiles > 1 ? tiles + 1 : 1);
}

double TokensByRule(MediaFamily family, PictureSize size) {
  switch (family) {
    case MediaFamily::kQwen:
      return RoundedSquares(size, 28, 4, 16384) + 2;
    case MediaFamily::kQwen3:
      return RoundedSquares(size, 32, 64, 16384) + 2;
    case MediaFamily::kPixtral:
      return RowsOfSquares(size, 16, 1024);
    case MediaFamily::kMistral:
      return RowsOfSquares(size, 28, 1540);
    case MediaFamily::kLlava:
      return 576;
    case MediaFamily::kLlavaNext:
      return 576 + static_cast<double>(PatchesOfLlavaNext(size).tokens());
    case MediaFamily::kOneVision:
      return 729 + static_cast<double>(PatchesOfOneVision(size).tokens());
    case MediaFamily::kInternVl:
      return WithWhole(NearestShape(size, 448, 12), 256) + 2;
    case MediaFamily::kMiniCpm: {
      // Two marks around each; the number of the picture with two marks; the ends of rows but the last.
      const TileGrid grid = SliceGrid(size, 448, 9);
      return WithWhole(grid, 64 + 2) + 3 + static_cast<double>(grid.rows - 1);
    }
    case MediaFamily::kGemma:
      // Two marks, and an empty line on both sides.
      return 256 + 4;
    case MediaFamily::kLlama4: {
      // A mark behind each tile but the whole; three around them.
      const TileGrid grid = BestCanvas(size, 336, 16);
      return WithWhole(grid, 144) + (grid.tiles() > 1 ? static_cast<double>(grid.tiles()) : 0) + 3;
    }
    default:
      break;
  }
  // A longest side of 1568 pixels.
  const auto longer = static_cast<double>(std::max(size.width, size.height));
  const double shrink = std::min(1.0, 1568 / longer);
  return Area(size) * shrink * shrink / 750;
}

}  // namespace

MediaFamily FamilyOf(absl::string_view model) {
  const std::string name = absl::AsciiStrToLower(model);
  for (const NamedFamily& row : kNames) {
    if (absl::StrContains(name, row.part)) return row.family;
  }
  return MediaFamily::kOther;
}

int64_t PictureTokens(MediaFamily family, PictureSize size) {
  return std::clamp<int64_t>(std::llround(TokensByRule(family, size)), 1, kMostPictureTokens);
}

int64_t UnsizedPictureTokens(MediaFamily family) { return PictureTokens(family, kPhoto); }

double SoundTokensPerSecond(MediaFamily family) {
  switch (family) {
    case MediaFamily::kUltravox:
    case MediaFamily::kGemma:
      return 6.25;
    case MediaFamily::kVoxtral:
    case MediaFamily::kQwen3:
      return 12.5;
    default:
      return 25;
  }
}

}  // namespace penstock
