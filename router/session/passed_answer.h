// The answer to a request whose meaning the router does not know: bytes of any type, passed as they come.
//
// An answer with a short length waits here until it is complete. Another engine can take the request over before. Any
// other begins at its client with its first piece. A failure breaks it off. The lease ends with the last byte of the
// engine. Lives in the coroutine that reads the answer. Belongs to one loop.
#ifndef PENSTOCK_ROUTER_SESSION_PASSED_ANSWER_H_
#define PENSTOCK_ROUTER_SESSION_PASSED_ANSWER_H_

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "backends/transport/upstream.h"
#include "router/live/loop_turn.h"
#include "router/session/admission.h"
#include "router/session/delivery.h"
#include "router/session/rules/attempt_end.h"
#include "router/session/state/answer_memory.h"
#include "router/session/state/session_state.h"

namespace penstock {

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
    return !head_.event_stream && size_ > static_cast<uint64_t>(state_.limits->max_answer.value());
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

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_PASSED_ANSWER_H_
