#include "backends/simulated/machine/text.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "backends/simulated/machine/mix.h"

namespace penstock::simulated {
namespace {

constexpr std::array<std::string_view, 16> kOpeners = {"Surely", "Mostly", "Mainly", "Partly", "Fairly", "Rarely",
                                                       "Lately", "Likely", "Indeed", "Gladly", "Wisely", "Justly",
                                                       "Simply", "Kindly", "Evenly", "Firmly"};

constexpr std::array<std::string_view, 128> kPieces = {
    " the",   " of",     " and",   " a",      " to",    " in",    " is",   " that",   " it",     " for",   " was",
    " on",    " are",    " as",    " with",   " they",  " at",    " be",   " this",   " from",   " have",  " or",
    " by",    " one",    " had",   " not",    " but",   " what",  " all",  " were",   " when",   " we",    " there",
    " can",   " an",     " your",  " which",  " their", " said",  " if",   " do",     " will",   " each",  " about",
    " how",   " up",     " out",   " them",   " then",  " she",   " many", " some",   " so",     " these", " would",
    " other", " into",   " has",   " more",   " her",   " two",   " like", " him",    " see",    " time",  " could",
    " no",    " make",   " than",  " first",  " been",  " its",   " who",  " now",    " people", " my",    " made",
    " over",  " did",    " down",  " only",   " way",   " find",  " use",  " may",    " water",  " long",  " little",
    " very",  " after",  " words", " called", " just",  " where", " most", " know",   " get",    " never", " back",
    " much",  " before", " go",    " good",   " new",   " write", " our",  " used",   " me",     " man",   " too",
    " any",   " day",    " same",  " right",  " look",  " think", " also", " around", " still",  " came",  " come",
    " work",  " three",  " word",  "ing",     "ed",     ",",      ".",
};
static_assert(!kPieces.back().empty(), "the list is full");

}  // namespace

std::string_view PieceAt(uint64_t seed, Conversation conversation, int64_t position) {
  const uint64_t bits = Mix(Mix(seed, conversation), static_cast<uint64_t>(position));
  return position == 0 ? kOpeners[bits % kOpeners.size()] : kPieces[bits % kPieces.size()];
}

bool IsBeginning(uint64_t seed, Conversation conversation, std::string_view text, Given& given) {
  if (text.empty()) return false;
  int64_t position = 0;
  while (!text.empty()) {
    const std::string_view piece = PieceAt(seed, conversation, position);
    const std::string_view same = text.substr(0, piece.size());
    if (piece.substr(0, same.size()) != same) return false;
    if (same.size() < piece.size()) {
      given = {Tokens(position), same.size()};
      return true;
    }
    text.remove_prefix(piece.size());
    ++position;
  }
  given = {Tokens(position), 0};
  return true;
}

PlainPrompt ReadPlainPrompt(uint64_t seed, std::string_view prompt) {
  PlainPrompt plain;
  ByteHash hash;
  for (size_t i = 0; i < prompt.size(); ++i) {
    if (prompt[i] >= 'A' && prompt[i] <= 'Z') {
      // Part of a word is too short to recognise an answer, so only whole openers count.
      const std::string_view rest = prompt.substr(i);
      const bool opener = std::any_of(kOpeners.begin(), kOpeners.end(),
                                      [&](std::string_view word) { return rest.substr(0, word.size()) == word; });
      if (opener && IsBeginning(seed, hash.Value(), rest, plain.given)) {
        plain.conversation = hash.Value();
        return plain;
      }
    }
    hash.Add(prompt[i]);
  }
  plain.given = {};
  plain.conversation = hash.Value();
  return plain;
}

Tokens DrawOutput(uint64_t seed, Conversation conversation) {
  constexpr double kMedian = 150;
  constexpr double kSigma = 1.2;
  const uint64_t bits = Mix(Mix(seed, conversation), 0x6f7574707574);
  // Box and Muller; 1 - u keeps the logarithm's argument above zero.
  const double radius = std::sqrt(-2 * std::log(1 - Uniform(Mix(bits, 1))));
  const double normal = radius * std::cos(2 * 3.14159265358979323846 * Uniform(Mix(bits, 2)));
  return Tokens(std::max<int64_t>(1, std::llround(kMedian * std::exp(kSigma * normal))));
}

}  // namespace penstock::simulated
