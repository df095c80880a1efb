// Reads one engine's event stream and passes it on, event by event, learning what the core has to know.
//
// Pure of I/O: Take() is given each event of a read and sorts it into what goes to the client; the caller writes that
// and tells Delivered(). A RelayState lives as long as its request, over several attempts; a StreamRelay is one
// attempt.
#ifndef PENSTOCK_ROUTER_HTTP_STREAM_RELAY_H_
#define PENSTOCK_ROUTER_HTTP_STREAM_RELAY_H_

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "backends/openai/dialect.h"
#include "router/http/progress_board.h"
#include "router/http/request_scan.h"

namespace penstock {

// Text kept for a continuation beyond this is dropped, and the answer cannot be continued any more.
inline constexpr size_t kMaxKeptText = 256 << 10;

// What one request's answer has come to so far.
struct RelayState {
  RelayCounter counter;    // Tokens relayed, over the attempts that count.
  int64_t delivered = 0;   // Those the client has, over all attempts.
  bool keep_text = false;  // The core may ask for an abort: keep what a continuation needs.
  bool continuable = true;
  std::string text;      // Delivered so far, when kept.
  std::string first_id;  // Raw JSON of the first chunk.
  std::string first_created;
  int64_t carried = 0;         // Tokens that the present attempt got as prompt.
  std::optional<Usage> usage;  // Of the whole answer.
  std::string finish_reason;

  // Before another attempt: from the start, or from what was delivered.
  void Restart(bool keep_delivered);
  int64_t generated() const { return counter.generated(); }
};

class StreamRelay {
 public:
  // `to_client` false: the answer is being reassembled.
  StreamRelay(Endpoint endpoint, const RequestFacts& facts, RelayState& state, bool to_client);

  enum class Verdict { kGoOn, kDone, kError, kMalformed };
  // All complete events of the bytes. After anything but kGoOn and kDone nothing more may be fed.
  Verdict Feed(absl::string_view bytes, Instant now);
  // What is to be written, views valid until the next Feed.
  const std::vector<absl::string_view>& pieces() const { return pieces_; }
  int64_t tokens_in_pieces() const { return new_tokens_; }

  bool any_event() const { return any_event_; }
  bool any_text() const { return any_text_; }
  bool done() const { return done_; }
  bool finished() const { return finished_ || done_; }
  // Bytes of an event that never ended.
  size_t unfinished_bytes() const { return splitter_.Rest().size(); }
  const EngineError& error() const { return *error_; }
  // Of a reassembled answer.
  absl::StatusOr<std::string> Assembled();
  bool comments_pass = false;  // The head is out: the engine's comments may go on.

 private:
  Verdict Take(const SseSplitter::Event& event, Instant now);
  void Learn(const StreamFacts& facts, Instant now);
  void Pass(absl::string_view raw);
  // False: the event is not for the client.
  bool KeepForContinuation(const SseSplitter::Event& event, const StreamFacts& facts);

  const Endpoint endpoint_;
  const RequestFacts& facts_;
  RelayState& state_;
  const bool to_client_;
  SseSplitter splitter_;
  std::optional<StreamAssembler> assembler_;
  absl::Status assembly_;
  std::vector<absl::string_view> pieces_;
  std::deque<std::string> rewritten_;
  int64_t new_tokens_ = 0;
  bool any_event_ = false;
  bool any_text_ = false;
  bool done_ = false;
  bool finished_ = false;
  std::optional<EngineError> error_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_STREAM_RELAY_H_
