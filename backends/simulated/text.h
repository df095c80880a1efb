// What a simulated model says: a pure function of (seed, conversation, position), so that an interrupted answer can be
// continued anywhere and comes out the same.
//
// Each token is one piece: a word with the space before it, an ending or a comma; printable ASCII without quotes and
// backslashes, so a piece stands in JSON as it is. The first piece of an answer comes from a short list of openers of
// its own: that makes an answer recognisable at the end of a plain prompt.
#ifndef PENSTOCK_BACKENDS_SIMULATED_TEXT_H_
#define PENSTOCK_BACKENDS_SIMULATED_TEXT_H_

#include <cstdint>
#include <string_view>

#include "base/units.h"

namespace penstock::simulated {

// What the answer depends on beside the seed: a hash of the prompt.
using Conversation = uint64_t;

// Never empty; lives as long as the program.
std::string_view PieceAt(uint64_t seed, Conversation conversation, int64_t position);

// How much of an answer was already given.
struct Given {
  Tokens tokens{0};  // Whole pieces.
  size_t bytes = 0;  // Of the piece after them.
};

// Whether `text` is a beginning of the conversation's answer, and how far it goes. Empty text is no beginning.
bool IsBeginning(uint64_t seed, Conversation conversation, std::string_view text, Given& given);

// A plain prompt as the conversation it opens and what its end already says of the answer.
struct PlainPrompt {
  Conversation conversation = 0;
  Given given;
};
PlainPrompt ReadPlainPrompt(uint64_t seed, std::string_view prompt);

// Length of an answer that neither client nor trace determines: log-normal, median 150 tokens, sigma 1.2.
Tokens DrawOutput(uint64_t seed, Conversation conversation);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_TEXT_H_
