// The lines of a JSONL file, wherever its pieces end.
#include "router/jobs/input/line_splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/str_cat.h"

namespace penstock::jobs {
namespace {

using ::testing::ElementsAre;

// Each line as "number@offset+length:text".
std::vector<std::string> Split(absl::string_view text, size_t piece, size_t max_line = 100, InputPlace from = {}) {
  LineSplitter splitter(max_line, from);
  std::vector<std::string> lines;
  SplitLine line;
  do {
    const absl::string_view next = text.substr(0, piece);
    text.remove_prefix(next.size());
    splitter.Offer(next, text.empty());
    while (splitter.Next(line)) {
      lines.push_back(absl::StrCat(line.number, "@", line.offset, "+", line.length, ":",
                                   line.too_long ? absl::string_view("too long") : line.text));
    }
  } while (!text.empty());
  lines.push_back(absl::StrCat("end ", splitter.place().lines, "@", splitter.place().offset));
  return lines;
}

TEST(LineSplitter, LinesAreTheSameWhereverThePiecesEnd) {
  for (size_t piece = 1; piece < 20; ++piece) {
    EXPECT_THAT(Split("{\"a\":1}\n\n{\"b\"}\r\nlast", piece),
                ElementsAre("1@0+7:{\"a\":1}", "3@9+5:{\"b\"}", "4@16+4:last", "end 4@20"))
        << piece;
  }
}

TEST(LineSplitter, LinesOfWhiteSpaceAreCountedOnly) {
  EXPECT_THAT(Split(" \t\r\n\r\n\nx\n \n", 3), ElementsAre("4@7+1:x", "end 5@11"));
  EXPECT_THAT(Split("", 3), ElementsAre("end 0@0"));
}

TEST(LineSplitter, ALongLineIsGivenWithoutItsText) {
  for (size_t piece = 1; piece < 12; ++piece) {
    EXPECT_THAT(
        Split("12345\n123456\n12345\r\n1234567890\nx", piece, 5),
        ElementsAre("1@0+5:12345", "2@6+6:too long", "3@13+5:12345", "4@20+10:too long", "5@31+1:x", "end 5@32"))
        << piece;
  }
}

TEST(LineSplitter, TheMarkAtTheBeginningOfAFileIsNoText) {
  for (size_t piece = 1; piece < 6; ++piece) {
    EXPECT_THAT(Split("\xEF\xBB\xBF{}\n\xEF\xBB\xBF{}\n", piece),
                ElementsAre("1@3+2:{}", "2@6+5:\xEF\xBB\xBF{}", "end 2@12"))
        << piece;
  }
}

TEST(LineSplitter, ItGoesOnFromAPlace) {
  EXPECT_THAT(Split("x\n", 5, 100, {20, 4}), ElementsAre("5@20+1:x", "end 5@22"));
}

}  // namespace
}  // namespace penstock::jobs
