#include "bench/load/prompt_writer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/string_view.h"

namespace penstock::bench {
namespace {

constexpr std::array<absl::string_view, 96> kWords = {
    "the",  "and",   "you",  "was",   "for",  "are",  "with", "his",  "they", "this", "have", "from", "one",  "had",
    "but",  "not",   "what", "all",   "were", "when", "your", "can",  "said", "use",  "each", "she",  "how",  "will",
    "out",  "many",  "then", "them",  "so",   "some", "her",  "like", "him",  "into", "time", "has",  "look", "two",
    "more", "see",   "way",  "could", "day",  "did",  "get",  "come", "made", "may",  "part", "over", "new",  "take",
    "only", "work",  "know", "year",  "live", "me",   "back", "give", "most", "very", "our",  "just", "name", "good",
    "man",  "think", "say",  "help",  "low",  "line", "turn", "much", "mean", "old",  "any",  "same", "tell", "boy",
    "came", "want",  "show", "also",  "form", "end",  "does", "well", "play", "put",  "read", "port"};

// A full stop per sentence; it takes the place of a word's token.
constexpr int64_t kSentence = 12;

void AppendWords(Generator generator, int64_t words, std::string& text) {
  for (int64_t i = 1; i <= words; ++i) {
    if (i % kSentence == 0) {
      text += '.';
      continue;
    }
    const absl::string_view word = kWords[generator.Next() % kWords.size()];
    if (!text.empty()) text += ' ';
    text.append(word.data(), word.size());
  }
}

// The fit minimises relative errors, so short and long prompts weigh about the same.
double WeightOf(double words) { return 1 / ((words + 100) * (words + 100)); }

}  // namespace

PromptWriter::PromptWriter(uint64_t seed) : seed_(seed) {
  // The belief before the first answer, as two observations: one token per word, and the chat template's tokens.
  constexpr double kOverhead = 9;
  for (double words : {100.0, 2000.0}) Observe(words, words + kOverhead, WeightOf(words));
  Solve();
}

PromptWriter::Prompt PromptWriter::Write(const TraceRequest& request, uint64_t index) const {
  Prompt prompt;
  prompt.words = std::max<int64_t>(1, std::llround((request.prompt.AsDouble() - overhead_) / tokens_per_word_));
  prompt.text.reserve(static_cast<size_t>(prompt.words) * 5);
  int64_t left = prompt.words;
  for (uint64_t hash : request.prefix_hashes) {
    const int64_t words = std::min(left, kPrefixBlock.value());
    // A block's text may not depend on what was learned, only on its id.
    AppendWords(Generator(seed_ ^ (hash * 0x9E3779B97F4A7C15u + 1)), words, prompt.text);
    left -= words;
  }
  Generator own(seed_ + 0xD1B54A32D192ED03u * (index + 1));
  AppendWords(own.Split(), left, prompt.text);
  return prompt;
}

void PromptWriter::Learn(int64_t words, Tokens actual) {
  const double ratio = actual.AsDouble() / static_cast<double>(std::max<int64_t>(words, 1));
  if (words < 1 || (words > 50 && (ratio > 8 || ratio < 0.125))) return;
  Observe(static_cast<double>(words), actual.AsDouble(), WeightOf(static_cast<double>(words)));
  Solve();
}

void PromptWriter::Observe(double words, double tokens, double weight) {
  weight_ += weight;
  words_ += weight * words;
  tokens_ += weight * tokens;
  words_words_ += weight * words * words;
  words_tokens_ += weight * words * tokens;
}

void PromptWriter::Solve() {
  const double determinant = weight_ * words_words_ - words_ * words_;
  if (determinant <= 1e-9 * weight_ * words_words_) return;
  tokens_per_word_ = std::clamp((weight_ * words_tokens_ - words_ * tokens_) / determinant, 0.2, 5.0);
  overhead_ = std::clamp((tokens_ - tokens_per_word_ * words_) / weight_, 0.0, 500.0);
}

}  // namespace penstock::bench
