// The ways in which a request ends. Each informs the core, the client, the log and the telemetry.
//
// Invariant: one call ends the request, and closes its ticket where the core knows the request. Owned by the session,
// whose parts the constructor takes. Belongs to the session's loop.
#ifndef PENSTOCK_ROUTER_SESSION_ENDING_H_
#define PENSTOCK_ROUTER_SESSION_ENDING_H_

#include <boost/asio/awaitable.hpp>
#include <memory>

#include "router/session/admission.h"
#include "router/session/delivery.h"
#include "router/session/rules/resume_rules.h"
#include "router/session/session_record.h"
#include "router/session/state/session_state.h"

namespace penstock {

class Ending {
 public:
  Ending(SessionState& state, Admission& admission, Delivery& delivery, SessionRecord& record)
      : state_(state), admission_(admission), delivery_(delivery), record_(record) {}

  // Another attempt follows one that failed with this error.
  void Remember(std::unique_ptr<ApiError> error);

  // An error that was found before the core heard of the request.
  boost::asio::awaitable<void> TurnAway(ApiError error);
  boost::asio::awaitable<void> Refused(Refuse refuse);
  // The router ends before the request. A stream gets an error event, and the client keeps its tokens.
  boost::asio::awaitable<void> ShutDown();
  // The engine finished the answer.
  void Finished();
  // Carries `step` out; not for steps that place the request again.
  boost::asio::awaitable<void> After(AttemptEnd end, NextStep step);

 private:
  boost::asio::awaitable<void> Gone();
  boost::asio::awaitable<void> Failed(AttemptEnd end, NextStep step);
  // Only the end of the stream is missing.
  boost::asio::awaitable<void> CloseAnswer();
  // No engine of the model counts the tokens of a message: the estimate is the answer, marked as one.
  boost::asio::awaitable<void> Estimated();
  // Answers with the error and records the refusal, unless the client is gone.
  boost::asio::awaitable<void> AnswerRefusal(ApiError error, Refuse refuse);

  SessionState& state_;
  Admission& admission_;
  Delivery& delivery_;
  SessionRecord& record_;
  std::unique_ptr<ApiError> earlier_error_;  // The error of the last attempt that was followed by another.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_ENDING_H_
