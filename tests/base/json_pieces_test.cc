#include "base/json_pieces.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace penstock {
namespace {

std::string EveryCharacter() {
  std::string text;
  for (int c = 0; c < 0x80; ++c) text.push_back(static_cast<char>(c));
  return text + "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80" + text;
}

TEST(JsonPieces, ATextIsEscapedAsTheLibraryEscapesIt) {
  const std::string text = EveryCharacter();
  for (const size_t piece : {1, 2, 3, 7, 1'000}) {
    JsonPieces pieces;
    pieces.AddJson("{\"a\":");
    pieces.AddText(text);
    pieces.AddJson(",\"b\":[");
    pieces.AddText("");
    pieces.AddJson("]}");
    std::string all;
    size_t before = 0;
    while (pieces.Write(piece, &all)) {
      EXPECT_GT(all.size(), before);
      EXPECT_LE(all.size() - before, 6 * piece) << "an escape has six characters at most";
      before = all.size();
    }
    EXPECT_EQ(all, "{\"a\":" + nlohmann::json(text).dump() + ",\"b\":[\"\"]}");
    EXPECT_FALSE(pieces.Write(piece, &all));
  }
}

TEST(JsonPieces, ALongTextIsWrittenByThePiece) {
  JsonPieces pieces;
  pieces.AddText(std::string(1'000'000, 'x'));
  std::string piece;
  size_t all = 0;
  int count = 0;
  bool more = true;
  for (; more; all += piece.size(), ++count) {
    piece.clear();
    more = pieces.Write(100'000, &piece);
    EXPECT_LE(piece.size(), 100'000u);
  }
  EXPECT_EQ(all, 1'000'002u);
  EXPECT_EQ(count, 11);
}

}  // namespace
}  // namespace penstock
