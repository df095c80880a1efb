// The stream of one attempt between engine and client: each piece is relayed, written at once, and counted.
//
// Take() is called for every piece that the engine sends and costs no coroutine and no allocation of its own. Only a
// write that has to wait goes through Deliver(). Lives in the coroutine that reads the stream. Belongs to one loop.
#ifndef PENSTOCK_ROUTER_SESSION_ANSWER_STREAM_H_
#define PENSTOCK_ROUTER_SESSION_ANSWER_STREAM_H_

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/transport/upstream.h"
#include "router/anthropic/message_writer.h"
#include "router/openai/answer/stream_relay.h"
#include "router/session/admission.h"
#include "router/session/delivery.h"
#include "router/session/rules/attempt_end.h"
#include "router/session/state/answer_memory.h"
#include "router/session/state/exchange_ends.h"
#include "router/session/state/session_state.h"

namespace penstock {

class AnswerStream {
 public:
  // `reassemble`: the client gets one whole answer. `translate`: the engine's chunks of a chat become a message.
  AnswerStream(SessionState& state, Admission& admission, Delivery& delivery, bool reassemble, bool translate);

  // The longest wait for the next piece; called before each read.
  Duration NextWait();
  // Passes one piece on. False: the reader has to look, because something is to be waited for, is wrong, or because
  // the next wait is another.
  bool Take(absl::string_view bytes);
  // The next event is too long for the loop. Once the last piece is with the client, ReadLongEvent() has to be awaited:
  // it passes the event on as Take() does.
  bool has_long_event() const {
    using Result = StreamRelay::Result;
    return !no_room_ && (result_ == Result::kLong || (result_ == Result::kGoOn && writer_ && writer_->has_long()));
  }
  boost::asio::awaitable<void> ReadLongEvent();
  // The last piece is not, or not all, with the client; Deliver() has to be awaited.
  bool undelivered() const { return undelivered_; }
  // False: the client is gone.
  boost::asio::awaitable<bool> Deliver();
  // After a read that gave `ended`: the end of the attempt if it cannot go on.
  std::optional<AttemptEnd> Judge(const absl::StatusOr<bool>& ended);
  // No more is to be read: the answer is complete or the engine closed it.
  bool over() const { return over_; }
  // Ends the client's stream, or sends the whole answer.
  boost::asio::awaitable<AttemptEnd> Finish();
  boost::asio::awaitable<AttemptEnd> SendAssembled();

 private:
  // The relay has new pieces, because of result_: learns from them, and writes them where that needs no wait.
  void Pass(Instant now);
  // The pieces of the last Take are about to go to the client. The last ones give up the place of the key.
  void ExpectDelivery();
  // The client has them.
  void OnDelivered(Instant now) { delivery_.OnPiece(relay_.counts().in_pieces(), now); }
  // An event takes memory until it ends: the memory of all answers bounds it too.
  size_t LongestEvent() const;
  // Bytes of an event that has not ended.
  size_t UnfinishedBytes() const { return relay_.unfinished_bytes() + (writer_ ? writer_->unfinished_bytes() : 0); }
  bool CallsMixedUp() const { return writer_ && writer_->mixed_up(); }
  bool Unreadable() const { return writer_ && writer_->unreadable(); }
  // Sends the pieces of the relay, if there are any. False: the client is gone.
  boost::asio::awaitable<bool> SendRest();
  // The client wants a whole answer, and this one has no finish reason.
  bool LacksFinish() const;
  // Counts the bytes that wait for an end or for the client. False: there is no room for them.
  bool HoldBytes();

  SessionState& state_;
  Admission& admission_;
  Delivery& delivery_;
  Client& client_;
  const Interruption interruption_;
  StreamRelay relay_;
  std::unique_ptr<anthropic::MessageWriter> writer_;  // Set where the answer is translated.
  AnswerMemory memory_;
  Duration wait_;  // For the next piece.
  Instant first_event_due_;
  StreamRelay::Result result_ = StreamRelay::Result::kGoOn;
  bool undelivered_ = false;
  bool begun_ = false;  // Part of the last piece is with the client.
  bool over_ = false;
  bool no_room_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_ANSWER_STREAM_H_
