// The blocks of one message of Anthropic's dialect as its client sees them, over all attempts of its request. Pure.
//
// Another attempt begins a message of its own. Its first block of text goes on with the open block of the client, and
// later blocks get the next indices. Only text is continued. Usual events cost nothing: an event is written anew only
// behind a cut.
#ifndef PENSTOCK_ROUTER_OPENAI_ANSWER_MESSAGE_BLOCKS_H_
#define PENSTOCK_ROUTER_OPENAI_ANSWER_MESSAGE_BLOCKS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "backends/dialect/sse_splitter.h"
#include "backends/dialect/stream_reader.h"
#include "backends/dialect/usage.h"
#include "base/units.h"

namespace penstock {

class MessageBlocks {
 public:
  // The client gets an event of the first attempt as it is.
  void OnPassed(const StreamFacts& facts);
  // Another attempt goes on with the message.
  void BeginAttempt() { shift_.reset(); }
  // True: this opening of an attempt that goes on has nothing for the client.
  bool Joins(const StreamFacts& facts) const;
  void Join(const StreamFacts& facts);
  // An event of such an attempt for the client, or nothing, with `fresh` as its content. The whole answer has this
  // usage so far. The event repeats the prompt where the engine does so.
  std::string Continued(const SseSplitter::Event& event, const StreamFacts& facts, absl::string_view fresh,
                        const Usage& usage);
  // The events that end the message; `finish_reason` is in OpenAI's words, and empty where the client has it.
  std::string Closing(absl::string_view finish_reason, Tokens output) const;

 private:
  bool IsOpen() const { return open_.has_value(); }
  // Ends the open block.
  std::string Stop();

  std::optional<int64_t> open_;   // The block that the client has not seen the end of.
  int64_t next_ = 0;              // The index of the client's next block.
  std::optional<int64_t> shift_;  // From the attempt's indices to the client's, once it has a block.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_ANSWER_MESSAGE_BLOCKS_H_
