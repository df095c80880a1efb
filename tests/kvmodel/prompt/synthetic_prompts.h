// Prompts of drawn text whose token counts follow the rules of an invented tokenizer.
#ifndef PENSTOCK_TESTS_KVMODEL_PROMPT_SYNTHETIC_PROMPTS_H_
#define PENSTOCK_TESTS_KVMODEL_PROMPT_SYNTHETIC_PROMPTS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kvmodel/prompt/text_counts.h"

namespace penstock {

struct Request {
  TextCounts counts;
  int64_t tokens = 0;
};

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The rules by which a synthetic tokenizer cuts text. Each splits runs, none is linear in the estimator's counts.
struct Rules {
  const char* name;
  int piece;          // Letters per token of long words.
  int whole_word;     // Words up to this length are one token.
  int digits;         // Digits per token.
  double cjk;         // Tokens per character.
  bool space_merges;  // A space belongs to the next word.
  int per_message;
  int per_prompt;
};

int64_t RunTokens(const Rules& rules, char kind, int64_t length) {
  if (length == 0) return 0;
  if (kind == 'a') return length <= rules.whole_word ? 1 : (length + rules.piece - 1) / rules.piece;
  if (kind == '0') return (length + rules.digits - 1) / rules.digits;
  if (kind == ' ') return rules.space_merges && length == 1 ? 0 : 1;
  if (kind == 'c') return std::llround(std::ceil(static_cast<double>(length / 3) * rules.cjk));
  return (length + 1) / 2;
}

int64_t Tokenize(const Rules& rules, const std::string& text) {
  int64_t tokens = 0;
  int64_t length = 0;
  char last = 0;
  for (const char c : text) {
    const char kind = IsLetter(c) ? 'a' : IsDigit(c) ? '0' : c == ' ' || c == '\n' ? ' ' : c < 0 ? 'c' : '.';
    if (kind != last) {
      tokens += RunTokens(rules, last, length);
      length = 0;
      last = kind;
    }
    ++length;
  }
  return tokens + RunTokens(rules, last, length);
}

class Writer {
 public:
  explicit Writer(uint32_t seed) : random_(seed) {}

  int Pick(int most) { return static_cast<int>(random_() % static_cast<unsigned>(most)); }

  std::string Prose(int words) {
    std::string text;
    for (int i = 0; i < words; ++i) {
      const int length = 1 + Pick(5) + Pick(5);
      for (int j = 0; j < length; ++j) text += static_cast<char>('a' + Pick(26));
      text += Pick(9) == 0 ? ". " : " ";
    }
    return text;
  }
  std::string Code(int lines) {
    std::string text;
    for (int i = 0; i < lines; ++i) {
      text +=
          std::string(static_cast<size_t>(2 * Pick(5)), ' ') + Prose(2) + "= f(" + std::to_string(Pick(1000)) + ");\n";
    }
    return text;
  }
  std::string Numbers(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += std::to_string(Pick(1'000'000)) + " ";
    return text;
  }
  std::string Chinese(int characters) {
    std::string text;
    for (int i = 0; i < characters; ++i) text += "\xE4\xBD\xA0";
    return text;
  }
  // Log-uniform from about 30 to 4000 words, of mixed content.
  Request Chat(const Rules& rules) {
    const int size = static_cast<int>(30 * std::exp(0.001 * Pick(4900)));
    std::string text = Prose(size);
    if (Pick(3) == 0) text += Code(size / 8);
    if (Pick(5) == 0) text += Numbers(size / 6);
    if (Pick(4) == 0) text += Chinese(size);
    Request request;
    request.counts = CountText(text);
    request.counts.messages = 1 + Pick(12);
    request.tokens = Tokenize(rules, text) + rules.per_message * request.counts.messages + rules.per_prompt;
    return request;
  }

 private:
  std::mt19937 random_;
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_KVMODEL_PROMPT_SYNTHETIC_PROMPTS_H_
