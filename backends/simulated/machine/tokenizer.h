// The tokenizer of simulated engines: words and pieces, about 4 bytes per token in English prose.
//
// A token has at most 6 letters with the space before them, 3 digits, 3 punctuation marks or 7 white-space characters.
// Other tokens have two characters of two bytes, or one longer character. An id contains the bytes of its token (below
// 2^53, exact in JSON), so there is no vocabulary and detokenising is exact. One pass, about 10 ns per token.
#ifndef PENSTOCK_BACKENDS_SIMULATED_TOKENIZER_H_
#define PENSTOCK_BACKENDS_SIMULATED_TOKENIZER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace penstock::simulated {

using TokenId = int64_t;

// The text of the first token. Precondition: `text` is not empty.
std::string_view NextPiece(std::string_view text);

// The id of a piece of at most 7 bytes, and the piece of an id. An id without a piece gives an empty text.
TokenId IdOf(std::string_view piece);
std::string TextOf(TokenId id);
// A mark of the chat template, which has no text. `kind` is in [0, 255].
constexpr TokenId Mark(int kind) { return kind; }

void Tokenize(std::string_view text, std::vector<TokenId>& ids);
Tokens CountTokens(std::string_view text);

// Counts the tokens of a prompt and hashes its full blocks. One owner, not thread-safe.
class PromptReader {
 public:
  // Prompts with different `salt` share no blocks. `block` is the block size of the engine.
  PromptReader(Tokens block, uint64_t salt) : block_(block.value()), hash_(salt) {}

  void Add(TokenId id);
  void AddText(std::string_view text);

  Tokens Count() const { return Tokens(count_); }
  // One chained hash for each full block.
  std::vector<uint64_t> TakeBlocks() { return std::move(blocks_); }

 private:
  int64_t block_;
  int64_t count_ = 0;
  uint64_t hash_;
  std::vector<uint64_t> blocks_;
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_TOKENIZER_H_
