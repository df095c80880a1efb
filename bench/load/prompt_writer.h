// Synthetic prompts of a wanted token length: short common English words in random order.
//
// The words are single tokens of usual vocabularies. With their space they are about four bytes long, which is also the
// average of English under such tokenizers. The prompt_tokens that a target reports teach the effect of its tokenizer
// and chat template (tokens = overhead + k x words). Lengths follow within about a percent after a few answers.
// Requests differ from their first words on, so that no prefix cache hits, unless the trace names shared leading
// blocks. Equal block ids give equal text. Not thread-safe.
#ifndef PENSTOCK_BENCH_LOAD_PROMPT_WRITER_H_
#define PENSTOCK_BENCH_LOAD_PROMPT_WRITER_H_

#include <cstdint>
#include <string>

#include "base/generator.h"
#include "base/units.h"
#include "bench/traces/trace.h"

namespace penstock::bench {

class PromptWriter {
 public:
  explicit PromptWriter(uint64_t seed);

  struct Prompt {
    std::string text;  // ASCII letters, spaces and full stops only: needs no JSON escaping.
    int64_t words = 0;
  };
  // For the `index`-th request of a trace.
  Prompt Write(const TraceRequest& request, uint64_t index) const;
  // A prompt of `words` had `actual` tokens by the target's count, template included.
  void Learn(int64_t words, Tokens actual);

  double tokens_per_word() const { return tokens_per_word_; }
  double overhead() const { return overhead_; }  // Tokens of the chat template.

 private:
  void Observe(double words, double tokens, double weight);
  void Solve();

  uint64_t seed_;
  double tokens_per_word_ = 1;
  double overhead_ = 0;
  // Weighted sums of a linear regression of tokens on words.
  double weight_ = 0;
  double words_ = 0;
  double tokens_ = 0;
  double words_words_ = 0;
  double words_tokens_ = 0;
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_LOAD_PROMPT_WRITER_H_
