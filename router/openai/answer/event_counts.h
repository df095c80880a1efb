// The tokens of the events of one attempt.
//
// An event with text has a token at least, and its usage may tell of more. The usage at the end tells of earlier events
// too; the ending counts their tokens. Pure; one owner.
#ifndef PENSTOCK_ROUTER_OPENAI_ANSWER_EVENT_COUNTS_H_
#define PENSTOCK_ROUTER_OPENAI_ANSWER_EVENT_COUNTS_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "backends/dialect/endpoint.h"
#include "backends/dialect/stream_reader.h"
#include "backends/dialect/usage.h"
#include "base/units.h"
#include "router/openai/answer/relay_state.h"
#include "router/openai/request/request_scan.h"

namespace penstock {

class EventCounts {
 public:
  EventCounts(Endpoint endpoint, const RequestFacts& facts, RelayState& state)
      : endpoint_(endpoint), facts_(facts), state_(state) {}

  // New pieces begin.
  void Begin() { in_pieces_ = progress_ = 0; }
  // The next event, of so many bytes, is one of the pieces. True: it has text.
  bool Learn(const StreamFacts& facts, size_t bytes, Instant now);
  // The usage of an event that Learn() does not get. False: its output is impossible.
  bool LearnUsage(Usage usage);
  // The last event is held, until Release() makes it one of the pieces.
  void Hold() { in_pieces_ -= held_ = in_event_; }
  void Release() { in_pieces_ += std::exchange(held_, 0); }

  int64_t in_pieces() const { return in_pieces_; }
  // The same as the stream's progress counts them.
  int64_t progress() const { return progress_; }

 private:
  // The tokens of an event of so many bytes, whose usage was read.
  int64_t TokensOf(const StreamFacts& facts, size_t bytes) const;
  // The same for the progress of the stream: where no usage tells, by the tokens that an event usually carries.
  int64_t Progress(const StreamFacts& facts);

  const Endpoint endpoint_;
  const RequestFacts& facts_;
  RelayState& state_;
  int64_t in_pieces_ = 0;
  int64_t in_event_ = 0;  // The present one.
  int64_t held_ = 0;      // In the held event.
  int64_t progress_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_ANSWER_EVENT_COUNTS_H_
