// Reads one engine's event stream and passes it on, event by event, learning what the core has to know.
//
// Pure of I/O. Feed() gets the bytes of a read and finds the pieces for the client, which the caller writes. A
// RelayState lives as long as its request, over several attempts; a StreamRelay is one attempt. An event that is too
// long for the turn of a loop is read elsewhere, by its LongEvent.
#ifndef PENSTOCK_ROUTER_OPENAI_ANSWER_STREAM_RELAY_H_
#define PENSTOCK_ROUTER_OPENAI_ANSWER_STREAM_RELAY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "backends/dialect/endpoint.h"
#include "backends/dialect/engine_error.h"
#include "backends/dialect/sse_splitter.h"
#include "backends/dialect/stream_reader.h"
#include "backends/dialect/text_pattern.h"
#include "router/openai/answer/client_pieces.h"
#include "router/openai/answer/event_counts.h"
#include "router/openai/answer/long_event.h"
#include "router/openai/answer/reassembly.h"
#include "router/openai/answer/relay_state.h"
#include "router/openai/request/request_scan.h"

namespace penstock {

class StreamRelay {
 public:
  // `longest`: set where the answer is reassembled, the most bytes of its events; kTooLong beyond.
  StreamRelay(Endpoint endpoint, const RequestFacts& facts, RelayState& state,
              std::optional<size_t> longest = std::nullopt);

  // kEmpty: the stream ended without an event. kLong: TakeLong() has the next event.
  enum class Result { kGoOn, kDone, kError, kMalformed, kTooLong, kEmpty, kLong };
  // All complete events of the bytes. After anything but kGoOn and kDone nothing more may be fed.
  Result Feed(absl::string_view bytes, Instant now);
  // The same for bytes that begin with an event: without a copy.
  Result FeedOwned(std::string bytes, Instant now);
  // The long event, unread. The memory of the relay goes with it: nothing else may be called before Resume().
  std::unique_ptr<LongEvent> TakeLong();
  // Goes on behind Feed(): with the long event, which was read, and all behind it.
  Result Resume(std::unique_ptr<LongEvent> event, Instant now);
  // The pieces to write; views valid until the next Feed.
  const std::vector<absl::string_view>& pieces() const { return pieces_.views(); }
  // The stream ended without its [DONE]: pieces() has the rest, if there is any.
  void Flush();
  // The tokens of the pieces.
  const EventCounts& counts() const { return counts_; }

  bool any_event() const { return any_event_; }
  bool any_text() const { return any_text_; }
  bool done() const { return end_ != End::kNone; }
  // The mark [DONE] came: nothing behind it is passed on, and nothing is to be read.
  bool closed() const { return end_ == End::kMark; }
  // Every choice has given the reason of its end.
  bool finished() const {
    return done() || static_cast<int64_t>(finished_choices_.size()) >= facts_.n * facts_.prompts;
  }
  // Bytes of an event that never ended.
  size_t unfinished_bytes() const { return splitter_.Rest().size(); }
  // The buffer of an event is longer than usual. It outlives its event until the next one, and pieces() are views of
  // it.
  static constexpr size_t kLongBuffer = 256 << 10;
  // Bytes that wait for the end of their event, or of their answer; the whole buffer where it is long.
  size_t held_bytes() const {
    const size_t waiting = splitter_.memory() > kLongBuffer ? splitter_.memory() : unfinished_bytes();
    return waiting + (reassembly_ ? reassembly_->bytes() : 0);
  }
  const EngineError& error() const { return *error_; }
  // The body of a reassembled answer; once.
  absl::StatusOr<JsonPieces> Assembled();
  bool comments_pass = false;  // The head is out: the engine's comments may go on.

 private:
  enum class End : uint8_t { kNone, kLastEvent, kMark };

  // The events of the buffer up to a long one.
  Result TakeEvents(Instant now);
  Result Take(const SseSplitter::Event& event, Instant now);
  Result TakeFacts(const SseSplitter::Event& event, StreamFacts& facts, Instant now);
  // Passes the held event on.
  void Release(absl::string_view fingerprint);
  void Learn(const StreamFacts& facts, size_t bytes, Instant now);
  void PassEarly();
  void PassEvent(const SseSplitter::Event& event, const StreamFacts& facts);
  // The event with the names of the answer that it continues; empty where nothing of it is new.
  std::string Continued(const SseSplitter::Event& event, const StreamFacts& facts);

  const Endpoint endpoint_;
  const RequestFacts& facts_;
  RelayState& state_;
  TextPattern pattern_;
  SseSplitter splitter_;
  std::unique_ptr<Reassembly> reassembly_;  // Set: the client gets no events.
  ClientPieces pieces_;
  EventCounts counts_;
  std::unique_ptr<LongEvent> long_;  // The present event, where it is long.
  bool any_event_ = false;
  bool any_text_ = false;
  End end_ = End::kNone;
  absl::flat_hash_set<int64_t> finished_choices_;  // The indices of those that ended.
  std::unique_ptr<const EngineError> error_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_ANSWER_STREAM_RELAY_H_
