#include "base/json_pieces.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock {
namespace {

TEST(JsonPieces, ThePartsComeInTheirOrderWhateverTheSizeOfAPiece) {
  for (const size_t piece : {1, 2, 3, 7, 1'000}) {
    JsonPieces pieces;
    for (const char* part : {"{\"a\":\"", "", "text", "\"}"}) pieces.Add(part);
    std::string all;
    size_t before = 0;
    while (pieces.Write(piece, &all)) {
      EXPECT_GT(all.size(), before);
      EXPECT_LE(all.size() - before, piece);
      before = all.size();
    }
    EXPECT_EQ(all, R"({"a":"text"})");
    EXPECT_FALSE(pieces.Write(piece, &all));
  }
}

TEST(JsonPieces, ALongTextIsWrittenByThePiece) {
  JsonPieces pieces;
  pieces.Add(std::string(1'000'000, 'x'));
  std::string piece;
  size_t all = 0;
  int count = 0;
  bool more = true;
  for (; more; all += piece.size(), ++count) {
    piece.clear();
    more = pieces.Write(100'000, &piece);
    EXPECT_LE(piece.size(), 100'000u);
  }
  EXPECT_EQ(all, 1'000'000u);
  EXPECT_EQ(count, 10);
}

}  // namespace
}  // namespace penstock
