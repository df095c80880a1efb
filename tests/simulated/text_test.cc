#include "backends/simulated/machine/text.h"

#include <algorithm>
#include <string>
#include <vector>

#include "backends/simulated/machine/tokenizer.h"
#include "gtest/gtest.h"

namespace penstock::simulated {
namespace {

std::string Answer(uint64_t seed, Conversation conversation, int64_t from, int64_t to) {
  std::string text;
  for (int64_t i = from; i < to; ++i) text += PieceAt(seed, conversation, i);
  return text;
}

TEST(Text, EveryPieceIsNonEmptyAndStandsInJsonAsItIs) {
  for (int64_t i = 0; i < 5000; ++i) {
    const std::string_view piece = PieceAt(1, 42, i);
    ASSERT_FALSE(piece.empty());
    ASSERT_TRUE(
        std::all_of(piece.begin(), piece.end(), [](char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; }));
  }
}

TEST(Text, EveryPieceIsOneTokenAndNoTextCountsMoreTokensThanItHas) {
  for (Conversation conversation = 0; conversation < 50; ++conversation) {
    for (int64_t i = 0; i < 100; ++i) {
      const std::string_view piece = PieceAt(1, conversation, i);
      ASSERT_EQ(CountTokens(piece), Tokens(1)) << piece;
      ASSERT_LE(CountTokens(Answer(1, conversation, 0, i + 1)), Tokens(i + 1)) << conversation;
    }
  }
}

TEST(Text, DependsOnSeedConversationAndPositionOnly) {
  EXPECT_EQ(Answer(1, 2, 0, 50), Answer(1, 2, 0, 50));
  EXPECT_NE(Answer(1, 2, 0, 50), Answer(1, 3, 0, 50));
  EXPECT_NE(Answer(1, 2, 0, 50), Answer(2, 2, 0, 50));
}

TEST(Text, AnyBeginningOfAnAnswerIsRecognised) {
  for (int64_t tokens = 1; tokens < 60; ++tokens) {
    Given given;
    ASSERT_TRUE(IsBeginning(1, 77, Answer(1, 77, 0, tokens), given));
    EXPECT_EQ(given.tokens, Tokens(tokens));
    EXPECT_EQ(given.bytes, 0u);
  }
}

TEST(Text, AnAnswerCutInsideAPieceIsRecognised) {
  std::string text = Answer(1, 77, 0, 9);
  text.pop_back();
  Given given;
  ASSERT_TRUE(IsBeginning(1, 77, text, given));
  EXPECT_EQ(given.tokens, Tokens(8));
  EXPECT_EQ(given.bytes, PieceAt(1, 77, 8).size() - 1);
}

TEST(Text, OtherTextIsNoBeginning) {
  Given given;
  EXPECT_FALSE(IsBeginning(1, 77, "Hello there", given));
  EXPECT_FALSE(IsBeginning(1, 77, "", given));
  EXPECT_FALSE(IsBeginning(1, 77, Answer(1, 77, 0, 9) + "!", given));
}

TEST(Text, TheTailOfAPlainPromptIsRecognisedAndGivesTheSameConversation) {
  const std::string prompt = "Surely, Mostly and Simply are words. What else?";
  const PlainPrompt fresh = ReadPlainPrompt(1, prompt);
  EXPECT_EQ(fresh.given.tokens, Tokens(0));
  for (int64_t tokens = 1; tokens < 40; ++tokens) {
    const PlainPrompt continued = ReadPlainPrompt(1, prompt + Answer(1, fresh.conversation, 0, tokens));
    EXPECT_EQ(continued.conversation, fresh.conversation);
    EXPECT_EQ(continued.given.tokens, Tokens(tokens));
  }
}

TEST(Text, AnswersOfAnotherSeedAreNotRecognised) {
  const std::string prompt = "What else? ";
  const PlainPrompt fresh = ReadPlainPrompt(1, prompt);
  const PlainPrompt other = ReadPlainPrompt(2, prompt + Answer(1, fresh.conversation, 0, 20));
  EXPECT_EQ(other.given.tokens, Tokens(0));
}

TEST(Text, DrawnLengthsHaveTheDocumentedDistribution) {
  std::vector<int64_t> lengths;
  for (uint64_t i = 0; i < 20'000; ++i) lengths.push_back(DrawOutput(1, i).value());
  std::sort(lengths.begin(), lengths.end());
  EXPECT_GE(lengths.front(), 1);
  EXPECT_NEAR(static_cast<double>(lengths[10'000]), 150, 6);
  EXPECT_NEAR(static_cast<double>(lengths[16'827]), 150 * 3.32, 30) << "one sigma above";
}

}  // namespace
}  // namespace penstock::simulated
