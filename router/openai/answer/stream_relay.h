// Reads one engine's event stream and passes it on, event by event, learning what the core has to know.
//
// Pure of I/O. Take() gets each event of a read and finds the pieces for the client. The caller writes them and calls
// Delivered(). A RelayState lives as long as its request, over several attempts; a StreamRelay is one attempt.
#ifndef PENSTOCK_ROUTER_OPENAI_ANSWER_STREAM_RELAY_H_
#define PENSTOCK_ROUTER_OPENAI_ANSWER_STREAM_RELAY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "backends/dialect/endpoint.h"
#include "backends/dialect/engine_error.h"
#include "backends/dialect/sse_splitter.h"
#include "backends/dialect/stream_reader.h"
#include "backends/dialect/text_pattern.h"
#include "backends/dialect/usage.h"
#include "base/token_counter.h"
#include "router/openai/answer/chunk_rewrite.h"
#include "router/openai/answer/client_pieces.h"
#include "router/openai/answer/delivered_text.h"
#include "router/openai/answer/message_blocks.h"
#include "router/openai/answer/reassembly.h"
#include "router/openai/answer/usage_check.h"
#include "router/openai/request/request_scan.h"

namespace penstock {

// The tokens that were relayed, over the attempts that count, and the events with text of the present one.
struct RelayedTokens {
  TokenCounter counter;
  double per_event = 1;  // As far as is known; the caller sets it before the first event.
  int64_t events = 0;
  double more = 0;          // Tokens beyond one per event that are not counted yet.
  int64_t before = 0;       // Counted when the last attempt ended.
  bool miscounted = false;  // The engine's own count of the delivered text was another.
  // The tokens of that text in the prompt of the present attempt, where its engine counted them.
  std::optional<int64_t> in_prompt;
  std::optional<Tokens> prompt;  // The prompt before that text, as that engine counts it.
};

// The form of the answer that the client has; a continuation keeps it.
struct ShownAnswer {
  std::optional<ChunkNames> names;  // Those of the first chunk.
  MessageBlocks message;            // Anthropic's dialect.
};

// The progress of one request's answer.
struct RelayState {
  RelayedTokens relayed;
  int64_t delivered = 0;    // Tokens that the client has, by its events, over all attempts.
  int64_t unseen = 0;       // Tokens that it has beyond those, as an engine counted them.
  DeliveredText text;       // The client's part of the text, if a continuation could ever need it.
  bool other_text = false;  // It has reasoning, tool calls or the like, which no longer prompt can repeat.
  std::string early;        // Events without content that came before any other; they are written with the first.
  ShownAnswer shown;
  bool resumed = false;        // The present attempt goes on with an answer that the client has part of.
  std::string overlap;         // White space that the client has and the present attempt's prompt has not.
  int64_t carried = 0;         // Tokens of the client's that the present attempt goes on from.
  std::optional<Usage> usage;  // The usage of the whole answer, as far as its counts are possible.
  UsageCheck usage_check;
  std::optional<Usage> reported;  // The first attempt's, where its engine reported the prompt early.
  bool usage_sent = false;
  std::string finish_reason;

  // Prepares another attempt: from the start, or from the delivered text. With `trimmed`, the engine's template cuts
  // white space off the end of the text that it continues.
  void Restart(bool keep_delivered, bool trimmed);
  // The tokens of PromptText(), as the engine of the present attempt counts them. An event has a token at least.
  void CountText(Tokens tokens);
  // No engine counts PromptText(): its events have so many tokens as those of earlier answers of their engine had. An
  // estimate leaves one token of the limit. `limit` zero: there is none.
  void EstimateText(Tokens limit);
  // Tokens that the client has, as far as they are known.
  int64_t client_tokens() const { return delivered + unseen; }
  // The delivered text without that white space; for the present attempt's prompt, before it gives any event.
  absl::string_view PromptText() const { return text.text().substr(0, text.text().size() - overlap.size()); }
  int64_t generated() const { return relayed.counter.generated(); }
  // The length of the answer so far: of its usage, else as counted.
  Tokens output() const { return usage && usage->output > Tokens(0) ? usage->output : Tokens(generated()); }
};

class StreamRelay {
 public:
  // `longest`: set where the answer is reassembled, the most bytes of its events; kTooLong beyond.
  StreamRelay(Endpoint endpoint, const RequestFacts& facts, RelayState& state,
              std::optional<size_t> longest = std::nullopt);

  // kEmpty: the stream ended without an event.
  enum class Result { kGoOn, kDone, kError, kMalformed, kTooLong, kEmpty };
  // All complete events of the bytes. After anything but kGoOn and kDone nothing more may be fed.
  Result Feed(absl::string_view bytes, Instant now);
  // The pieces to write; views valid until the next Feed.
  const std::vector<absl::string_view>& pieces() const { return pieces_.views(); }
  // The stream ended without its [DONE]: pieces() has the rest, if there is any.
  void Flush();
  int64_t tokens_in_pieces() const { return tokens_.in_pieces; }
  // Tokens of the last Feed as its progress counts them.
  int64_t progress() const { return tokens_.progress; }

  bool any_event() const { return any_event_; }
  bool any_text() const { return any_text_; }
  bool done() const { return end_ != End::kNone; }
  // The mark [DONE] came: nothing behind it is passed on, and nothing is to be read.
  bool closed() const { return end_ == End::kMark; }
  // Every choice has given the reason of its end.
  bool finished() const { return done() || finishes_ >= facts_.n * facts_.prompts; }
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
  struct Counts {
    int64_t in_pieces = 0;
    int64_t in_event = 0;  // The present one.
    int64_t held = 0;      // In the held event.
    int64_t progress = 0;
  };

  Result Take(const SseSplitter::Event& event, Instant now);
  // Passes the held event on.
  void Release(absl::string_view fingerprint);
  void Learn(const StreamFacts& facts, size_t bytes, Instant now);
  // False: its output is impossible.
  bool LearnUsage(Usage usage);
  // The tokens of an event of so many bytes; Learn has read its usage. An event with text has one at least, and its
  // usage may tell of more. The usage at the end tells of earlier events too; the ending counts their tokens.
  int64_t TokensOf(const StreamFacts& facts, size_t bytes) const;
  // The same for the progress of the stream: where no usage tells, by the tokens that an event usually carries.
  int64_t Progress(const StreamFacts& facts);
  void PassEarly();
  void PassEvent(const SseSplitter::Event& event, const StreamFacts& facts);
  // The event with the names of the answer that it continues; empty where nothing of it is new.
  std::string Continued(const SseSplitter::Event& event, const StreamFacts& facts);
  // Takes off the content what the client has already.
  absl::string_view WithoutOverlap(absl::string_view content);

  const Endpoint endpoint_;
  const RequestFacts& facts_;
  RelayState& state_;
  TextPattern pattern_;
  SseSplitter splitter_;
  std::unique_ptr<Reassembly> reassembly_;  // Set: the client gets no events.
  ClientPieces pieces_;
  Counts tokens_;
  bool any_event_ = false;
  bool any_text_ = false;
  End end_ = End::kNone;
  int64_t finishes_ = 0;
  std::unique_ptr<const EngineError> error_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_ANSWER_STREAM_RELAY_H_
