// A fast path for the text events of a stream.
#ifndef PENSTOCK_BACKENDS_DIALECT_TEXT_PATTERN_H_
#define PENSTOCK_BACKENDS_DIALECT_TEXT_PATTERN_H_

#include <optional>
#include <string>

#include "backends/dialect/endpoint.h"
#include "backends/dialect/stream_reader.h"

namespace penstock {

// Engines repeat all bytes of a text event except the text. The pattern learns one event and recognises the next one
// when it differs only in plain characters inside the text. A match costs a comparison, where ReadStreamEvent() costs a
// parse. Only kChat and kCompletions. One owner, not thread-safe.
class TextPattern {
 public:
  explicit TextPattern(Endpoint endpoint)
      : active_(endpoint == Endpoint::kChat || endpoint == Endpoint::kCompletions) {}
  // `facts` are the facts of this event.
  void Learn(const SseSplitter::Event& event, const StreamFacts& facts);
  // The result of ReadStreamEvent() without `only_text`. Null when the event does not match.
  std::optional<StreamFacts> Match(const SseSplitter::Event& event) const;

 private:
  bool active_;
  std::string before_;  // Empty: nothing learned.
  std::string after_;
  bool is_content_ = false;
  bool other_text_ = false;
  bool has_role_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_TEXT_PATTERN_H_
