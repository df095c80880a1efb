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
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/dialect/answer_reader.h"
#include "backends/transport/upstream.h"
#include "router/live/loop_turn.h"
#include "router/session/admission.h"
#include "router/session/delivery.h"
#include "router/session/rules/attempt_end.h"
#include "router/session/state/answer_memory.h"
#include "router/session/state/session_state.h"
#include "router/session/state/text_parts.h"
#include "router/session/state/translated_chat.h"

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
        left_(state.limits->first_byte_timeout) {}

  // The part of a merged answer, which is at hand. Awaited once, instead of Run().
  boost::asio::awaitable<AttemptEnd> SendMerged(absl::string_view body);
  // A chat that becomes a message, up to LongestAtOnce(). A long one does on a thread of its own. Awaited once, instead
  // of Run().
  boost::asio::awaitable<AttemptEnd> RunTranslated();
  // Called once, after the head. Short answers come with it, and need no wait. Null: await Run().
  std::optional<AttemptEnd> RunNow();
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
  // Judges a body, and sends it where that needs no wait. Null: FinishSend() goes on.
  std::optional<AttemptEnd> SendNow(absl::string_view body, const AnswerFacts& facts);
  boost::asio::awaitable<AttemptEnd> FinishSend(absl::string_view body);
  boost::asio::awaitable<AttemptEnd> SendTranslated(TranslatedChat made);
  // A body of several parts.
  boost::asio::awaitable<AttemptEnd> SendParts(TextParts text);
  AttemptEnd Sent(bool alive);
  boost::asio::awaitable<void> Step();
  size_t Longest() const { return static_cast<size_t>(state_.limits->max_answer.value()); }

  SessionState& state_;
  Admission& admission_;
  Delivery& delivery_;
  UpstreamExchange& exchange_;
  const Head head_;
  AnswerScan scan_;
  std::optional<absl::string_view> at_hand_;  // The whole body came with its head.
  std::string held_;
  AnswerMemory memory_;
  LoopTurn turn_;
  Duration left_;    // For the engine. The time of the client does not count.
  size_t size_ = 0;  // The bytes of the answer so far.
  bool malformed_ = false;
  bool passing_ = false;  // The answer has begun at the client.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_WHOLE_ANSWER_H_
