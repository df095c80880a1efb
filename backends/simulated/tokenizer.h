// The simulated engine's tokenizer: words and pieces, about 4 bytes a token on English prose.
//
// A token is at most 6 letters with the space before them, 3 digits, 3 punctuation marks, 7 white-space characters, two
// characters of a two-byte script or one of a longer one. Ids carry the bytes themselves (below 2^53, exact in JSON),
// so there is no vocabulary and detokenising is exact. One pass, about 10 ns a token.
#ifndef PENSTOCK_BACKENDS_SIMULATED_TOKENIZER_H_
#define PENSTOCK_BACKENDS_SIMULATED_TOKENIZER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace penstock::simulated {

using TokenId = int64_t;

// The first token's text at the beginning of `text`. Precondition: `text` is not empty.
std::string_view NextPiece(std::string_view text);

// Id of a piece (at most 7 bytes), and back. Ids that no piece has give an empty text.
TokenId IdOf(std::string_view piece);
std::string TextOf(TokenId id);
// Marks of the chat template, which have no text; `kind` in [0, 255].
constexpr TokenId Mark(int kind) { return kind; }

void Tokenize(std::string_view text, std::vector<TokenId>& ids);
Tokens CountTokens(std::string_view text);

// Counts a prompt's tokens and hashes its full blocks as they come.
class PromptReader {
 public:
  // `salt` sets prompts apart that must not share blocks; `block` is the engine's block size.
  PromptReader(Tokens block, uint64_t salt) : block_(block.value()), hash_(salt) {}

  void Add(TokenId id);
  void AddText(std::string_view text);

  Tokens Count() const { return Tokens(count_); }
  // Chained, one for each full block.
  std::vector<uint64_t> TakeBlocks() { return std::move(blocks_); }

 private:
  int64_t block_;
  int64_t count_ = 0;
  uint64_t hash_;
  std::vector<uint64_t> blocks_;
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_TOKENIZER_H_
