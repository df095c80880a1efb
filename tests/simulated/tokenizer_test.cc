#include "backends/simulated/machine/tokenizer.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock::simulated {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kProse =
    "The river had been low all summer, and the old men of the village said that it would not rise again before the "
    "first snow. Nobody believed them at first. The mill stood still for most of the day, its wheel turning only when "
    "the keeper opened the upper gate for an hour in the evening, and the miller's daughter walked down to the ford to "
    "see how far the stones had come out of the water. In the years before, boats had carried grain and timber past "
    "the town every morning; now there was nothing but a thin green line between two banks of gravel. The council met "
    "on a Thursday to decide what should be done. Some wanted to build a reservoir in the hills, others thought that "
    "the gates of the canal should be closed at night, and a few argued, as a few always do, that the weather would "
    "look after itself. When the meeting ended, long after midnight, they had agreed on a committee, on a budget of "
    "almost nothing, and on the date of the next meeting. It was raining when they came out into the street.";

std::vector<std::string> Pieces(std::string_view text) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    pieces.emplace_back(NextPiece(text));
    text.remove_prefix(pieces.back().size());
  }
  return pieces;
}

TEST(Tokenizer, SplitsWordsAndPieces) {
  EXPECT_THAT(Pieces("Hello wonderful world, 12345!\n\n  ok"),
              ElementsAre("Hello", " wonder", "ful", " world", ",", " 123", "45", "!", "\n\n ", " ok"));
}

TEST(Tokenizer, SplitsOtherScriptsByCharacter) {
  EXPECT_THAT(Pieces("привет 日本"), ElementsAre("пр", "ив", "ет", " ", "日", "本"));
}

TEST(Tokenizer, IsWithinTenPercentOfAQuarterOfTheBytesOfEnglish) {
  const double tokens = CountTokens(kProse).AsDouble();
  EXPECT_NEAR(tokens / (static_cast<double>(kProse.size()) / 4), 1, 0.1);
}

TEST(Tokenizer, IdsGiveTheTextBackAndAreExactInJson) {
  for (const std::string_view text : {kProse, std::string_view("{\"a\":[1,2.5]}\t\r\n日本 привет \xff\x80 ok")}) {
    std::vector<TokenId> ids;
    Tokenize(text, ids);
    EXPECT_EQ(static_cast<int64_t>(ids.size()), CountTokens(text).value());
    std::string back;
    for (const TokenId id : ids) {
      EXPECT_GT(id, 255);
      EXPECT_LT(id, int64_t{1} << 53);
      back += TextOf(id);
    }
    EXPECT_EQ(back, text);
  }
}

TEST(Tokenizer, IdsOfNoPieceHaveNoText) {
  EXPECT_EQ(TextOf(Mark(3)), "");
  EXPECT_EQ(TextOf(-1), "");
  EXPECT_EQ(TextOf(int64_t{1} << 60), "");
}

TEST(PromptReader, EqualBeginningsHaveEqualBlocks) {
  PromptReader a(Tokens(16), 0);
  PromptReader b(Tokens(16), 0);
  a.AddText(kProse);
  b.AddText(kProse.substr(0, 400));
  b.AddText("and then something else entirely happened to all of them");
  const std::vector<uint64_t> first = a.TakeBlocks();
  const std::vector<uint64_t> second = b.TakeBlocks();
  EXPECT_EQ(static_cast<int64_t>(first.size()), a.Count().value() / 16);
  EXPECT_EQ(first[0], second[0]);
  EXPECT_NE(first.back(), second.back());
}

TEST(PromptReader, SaltSetsPromptsApart) {
  PromptReader a(Tokens(16), 0);
  PromptReader b(Tokens(16), 1);
  a.AddText(kProse);
  b.AddText(kProse);
  EXPECT_NE(a.TakeBlocks()[0], b.TakeBlocks()[0]);
}

}  // namespace
}  // namespace penstock::simulated
