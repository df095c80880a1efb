// Counts the tokens of a streamed answer with as little work as possible.
//
// Fed with the decoded body of a text/event-stream answer in the OpenAI dialect. One `data:` event with non-empty text
// (content, reasoning, tool-call arguments) is one token. An engine under load puts several tokens into one event. The
// usage of an event then reports more tokens, and the missing ones count with that event. Nothing is parsed as JSON on
// the usual path: a few substring searches per event, about 100 ns. Independent of the router's own parser on purpose:
// it measures the router.
#ifndef PENSTOCK_BENCH_LOAD_STREAM_COUNTER_H_
#define PENSTOCK_BENCH_LOAD_STREAM_COUNTER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock::bench {

class StreamCounter {
 public:
  // Returns the tokens of the events that these bytes completed.
  int64_t Feed(absl::string_view bytes);

  bool done() const { return done_; }                                      // data: [DONE] was seen.
  const std::string& finish_reason() const { return finish_reason_; }      // The last one seen; empty: none.
  std::optional<int64_t> prompt_tokens() const { return prompt_tokens_; }  // The usage's count.
  const std::string& error() const { return error_; }                      // Data of an error event; empty: none.

 private:
  // The tokens of the line's event.
  int64_t ReadLine(absl::string_view line);

  std::string rest_;  // An unfinished line.
  std::string finish_reason_;
  std::string error_;
  std::optional<int64_t> prompt_tokens_;
  int64_t counted_ = 0;
  bool done_ = false;
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_LOAD_STREAM_COUNTER_H_
