// The whole answer of one attempt between engine and client: read, checked, and passed on.
//
// An answer of up to a megabyte waits here until it is complete and good, so another engine can take the request over.
// A longer answer, or one that finds no more memory, begins at its client before its end. Its pieces then go on as the
// client takes them, the last byte only when all is good. A failure breaks it off. The scan goes along with the
// reading. The lease ends with the last byte of the engine, because the usage comes last. A piece is read only where
// the budget has room for it, and the loop does other work between pieces. Lives in the coroutine that reads the
// answer. Belongs to one loop.
#ifndef PENSTOCK_ROUTER_SESSION_WHOLE_ANSWER_H_
#define PENSTOCK_ROUTER_SESSION_WHOLE_ANSWER_H_

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/dialect/answer_reader.h"
#include "backends/transport/upstream.h"
#include "router/live/loop_turn.h"
#include "router/live/merge/embedding_merger.h"
#include "router/session/admission.h"
#include "router/session/answer_memory.h"
#include "router/session/delivery.h"
#include "router/session/rules/attempt_end.h"
#include "router/session/session_state.h"

namespace penstock {

class WholeAnswer {
 public:
  // Most bytes that wait for the end of their answer.
  static constexpr size_t kMostHeld = 15 * AnswerMemory::kBlock;

  struct Head {
    std::string content_type;
    std::optional<uint64_t> length;
  };
  WholeAnswer(SessionState& state, Admission& admission, Delivery& delivery, UpstreamExchange& exchange, Head head)
      : state_(state),
        admission_(admission),
        delivery_(delivery),
        exchange_(exchange),
        head_(std::move(head)),
        scan_(state.request.endpoint),
        memory_(state),
        left_(state.limits.first_byte_timeout) {}

  // The part of a merged answer, which is at hand. Awaited once, instead of Run().
  boost::asio::awaitable<AttemptEnd> SendMerged(absl::string_view body);
  // Awaited once, after the head.
  boost::asio::awaitable<AttemptEnd> Run();

 private:
  // Reads to the end of the body. An end: the answer cannot be used, or the client is gone.
  boost::asio::awaitable<std::optional<AttemptEnd>> Read();
  // True: the body has ended.
  boost::asio::awaitable<absl::StatusOr<bool>> ReadPiece();
  void Take(absl::string_view piece);
  // There is room for another piece behind the held bytes.
  bool HasRoom();
  // Passes the held bytes on, but for the last one. The first call begins the answer at the client. False: it is gone.
  boost::asio::awaitable<bool> PassHeld();
  boost::asio::awaitable<bool> Pass(absl::string_view bytes);
  // The body has ended; `body` is as much of it as is held. An end: it is no good answer.
  std::optional<AttemptEnd> Judge(const AnswerFacts& facts, absl::string_view body);
  boost::asio::awaitable<AttemptEnd> Send(absl::string_view body, const AnswerFacts& facts);
  AttemptEnd Sent(bool alive);
  boost::asio::awaitable<void> Step();
  size_t Longest() const { return static_cast<size_t>(state_.limits.max_answer.value()); }

  SessionState& state_;
  Admission& admission_;
  Delivery& delivery_;
  UpstreamExchange& exchange_;
  const Head head_;
  AnswerScan scan_;
  std::string held_;
  AnswerMemory memory_;
  LoopTurn turn_;
  Duration left_;    // For the engine. The time of the client does not count.
  size_t size_ = 0;  // The bytes of the answer so far.
  bool malformed_ = false;
  bool passing_ = false;  // The answer has begun at the client.
};

// The answer to a request whose meaning the router does not know: bytes of any type, passed as they come.
//
// An answer with a short length, or with a status beside 200, waits here until it is complete. Another engine can take
// the request over before. Any other begins at its client with its first piece. A failure breaks it off. The
// lease ends with the last byte of the engine. Lives in the coroutine that reads the answer. Belongs to one loop.
class PassedAnswer {
 public:
  struct Head {
    int status = http_status::kOk;
    bool event_stream = false;  // Its length has no bound.
    std::string content_type;
    std::optional<uint64_t> length;
  };
  PassedAnswer(SessionState& state, Admission& admission, Delivery& delivery, UpstreamExchange& exchange, Head head)
      : state_(state),
        admission_(admission),
        delivery_(delivery),
        exchange_(exchange),
        head_(std::move(head)),
        memory_(state) {}

  // Awaited once, after the head.
  boost::asio::awaitable<AttemptEnd> Run();

 private:
  // The answer waits for its end.
  bool Waits() const;
  boost::asio::awaitable<absl::StatusOr<bool>> ReadPiece();
  // Passes the held bytes on. The first call begins the answer at the client. False: it is gone.
  boost::asio::awaitable<bool> PassHeld();
  boost::asio::awaitable<AttemptEnd> Finish();
  bool TooLong() const {
    return !head_.event_stream && size_ > static_cast<uint64_t>(state_.limits.max_answer.value());
  }

  SessionState& state_;
  Admission& admission_;
  Delivery& delivery_;
  UpstreamExchange& exchange_;
  const Head head_;
  std::string held_;
  AnswerMemory memory_;
  LoopTurn turn_;
  uint64_t size_ = 0;     // The bytes of the answer so far.
  bool passing_ = false;  // The answer has begun at the client.
};

// The answer to an embedding request that goes to its engine together with others, or the word that it goes alone.
//
// The merged call itself belongs to the loop (EmbeddingMerger). A request that goes alone keeps its place to its end:
// others gather while it is at the engine. Lives in the attempt. Belongs to one loop.
class MergedAnswer {
 public:
  MergedAnswer(SessionState& state, Admission& admission, Delivery& delivery)
      : state_(state), admission_(admission), delivery_(delivery) {}

  // False: the request goes alone, whatever others do.
  static bool MayMerge(const SessionState& state);
  // Awaited once. None: the request goes alone.
  boost::asio::awaitable<std::optional<AttemptEnd>> Run(std::shared_ptr<UpstreamPool> pool, HeaderList engine_headers);
  // The time that the request spent in a call with others.
  Duration waited() const { return waited_; }
  // Run() ends at once; the others of the call go on.
  void Leave() {
    if (place_) place_->Leave();
  }

 private:
  EmbeddingCall CallWith(const HeaderList& engine_headers) const;

  SessionState& state_;
  Admission& admission_;
  Delivery& delivery_;
  std::optional<EmbeddingMerger::Place> place_;
  Duration waited_;
  UpstreamExchange none_;  // Nothing is read: the answer is at hand.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_WHOLE_ANSWER_H_
