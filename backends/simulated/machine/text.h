// The text of a simulated model: a pure function of seed, conversation and position. Any engine can therefore continue
// an interrupted answer with the same text.
//
// Each token is one piece: a word with the space before it, an ending or a comma. The tokenizer reads a piece as one
// token. It reads an ending together with the word before it, so a text may count fewer tokens than its answer had. A
// piece is printable ASCII without quotes and backslashes, so it needs no escape in JSON. The first piece of an answer
// comes from a short list of openers. They make an answer recognisable at the end of a plain prompt.
#ifndef PENSTOCK_BACKENDS_SIMULATED_TEXT_H_
#define PENSTOCK_BACKENDS_SIMULATED_TEXT_H_

#include <cstdint>
#include <string_view>

#include "base/units.h"

namespace penstock::simulated {

// The hash of the prompt. With the seed it determines the answer.
using Conversation = uint64_t;

// The text of one token, never empty. The view is valid for the life of the program.
std::string_view PieceAt(uint64_t seed, Conversation conversation, int64_t position);

// The part of an answer that a prompt already contains.
struct Given {
  Tokens tokens{0};  // Whole pieces.
  size_t bytes = 0;  // Bytes of the next piece.
};

// True when `text` is a beginning of the answer; `given` is then its length. Empty text is not a beginning.
bool IsBeginning(uint64_t seed, Conversation conversation, std::string_view text, Given& given);

// A plain prompt: its conversation, and the part of the answer at its end.
struct PlainPrompt {
  Conversation conversation = 0;
  Given given;
};
PlainPrompt ReadPlainPrompt(uint64_t seed, std::string_view prompt);

// The length of an answer when neither client nor trace sets it: log-normal, median 150 tokens, sigma 1.2.
Tokens DrawOutput(uint64_t seed, Conversation conversation);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_TEXT_H_
