#include "bench/load/prompt_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "backends/simulated/machine/tokenizer.h"

namespace penstock::bench {
namespace {

TraceRequest Wanted(int64_t prompt, std::vector<uint64_t> hashes = {}) {
  TraceRequest request;
  request.prompt = Tokens(prompt);
  request.prefix_hashes = std::move(hashes);
  return request;
}

size_t CommonPrefix(const std::string& a, const std::string& b) {
  size_t i = 0;
  while (i < std::min(a.size(), b.size()) && a[i] == b[i]) ++i;
  return i;
}

TEST(PromptWriter, LengthsFollowWhatTheTargetCounts) {
  PromptWriter writer(1);
  // A target whose tokenizer makes 1.3 tokens of a word and whose template costs 37.
  double error = 1;
  for (uint64_t i = 0; i < 40; ++i) {
    const int64_t wanted = 150 + static_cast<int64_t>(i % 7) * 400;
    const auto prompt = writer.Write(Wanted(wanted), i);
    const double actual = 37 + 1.3 * static_cast<double>(prompt.words);
    error = std::fabs(actual / static_cast<double>(wanted) - 1);
    writer.Learn(prompt.words, Tokens(std::llround(actual)));
  }
  EXPECT_LT(error, 0.02);
  EXPECT_NEAR(writer.tokens_per_word(), 1.3, 0.03);
}

TEST(PromptWriter, TheSimulatedEngineCountsTheWantedLengthFromTheFirstRequestOn) {
  const PromptWriter writer(1);
  // The tokens of its chat template around one user message.
  constexpr int64_t kTemplate = 9;
  for (int64_t wanted : {12, 100, 1035, 4122, 14050}) {
    const auto prompt = writer.Write(Wanted(wanted), 3);
    EXPECT_EQ(simulated::CountTokens(prompt.text) + Tokens(kTemplate), Tokens(wanted));
  }
}

TEST(PromptWriter, RequestsDifferFromTheirFirstWords) {
  const PromptWriter writer(1);

  const std::string first = writer.Write(Wanted(2000), 0).text;
  const std::string second = writer.Write(Wanted(2000), 1).text;

  EXPECT_LT(CommonPrefix(first, second), 30u);
  EXPECT_EQ(first, PromptWriter(1).Write(Wanted(2000), 0).text);
}

TEST(PromptWriter, EqualBlocksGiveEqualTextWhateverWasLearned) {
  PromptWriter writer(1);
  const std::string first = writer.Write(Wanted(2000, {7, 8}), 0).text;
  for (int i = 0; i < 10; ++i) writer.Learn(1000, Tokens(1400));

  const std::string second = writer.Write(Wanted(2000, {7, 8}), 1).text;
  const std::string other = writer.Write(Wanted(2000, {7, 9}), 2).text;

  // Two blocks of 512 words of about four bytes.
  EXPECT_GT(CommonPrefix(first, second), 2u * 512 * 3);
  EXPECT_LT(CommonPrefix(first, other), 512u * 6);
  EXPECT_GT(CommonPrefix(first, other), 512u * 3);
}

TEST(PromptWriter, TheTextNeedsNoEscaping) {
  const std::string text = PromptWriter(3).Write(Wanted(5000), 9).text;

  EXPECT_EQ(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz ."), std::string::npos);
}

TEST(PromptWriter, AbsurdCountsAreNotLearned) {
  PromptWriter writer(1);

  writer.Learn(1000, Tokens(1'000'000));

  EXPECT_NEAR(writer.tokens_per_word(), 1, 0.01);
}

}  // namespace
}  // namespace penstock::bench
