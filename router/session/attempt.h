// One attempt at one engine: the spliced request out, the head of the answer in, and the answer on to the client.
//
// Send() is awaited once, then ReadAnswer(), so that a long stream does not hold what its sending needed. The ticket
// closes before the client has read a complete answer: the engine's work is done, so its memory is free. Costs a
// coroutine for each of both. Belongs to one loop.
#ifndef PENSTOCK_ROUTER_SESSION_ATTEMPT_H_
#define PENSTOCK_ROUTER_SESSION_ATTEMPT_H_

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "backends/transport/upstream.h"
#include "router/openai/request/body_splice.h"
#include "router/session/admission.h"
#include "router/session/apart/background_watch.h"
#include "router/session/delivery.h"
#include "router/session/merged_answer.h"
#include "router/session/prefill/prefill_stage.h"
#include "router/session/rules/attempt_end.h"
#include "router/session/state/message_as_chat.h"
#include "router/session/state/session_state.h"
#include "router/session/state/short_body.h"
#include "router/session/switched/switched_answer.h"
#include "router/session/whole_answer.h"

namespace penstock {

class Attempt {
 public:
  // After the ticket arrived and a Forward named the engine.
  Attempt(SessionState& state, Admission& admission, Delivery& delivery)
      : state_(state), admission_(admission), delivery_(delivery) {}

  // The attempt ended, or there is an answer to be read.
  boost::asio::awaitable<std::optional<AttemptEnd>> Send();
  boost::asio::awaitable<AttemptEnd> ReadAnswer();
  // The times that the engine got the whole request, and a part of it only.
  int writes() const {
    if (state_.in_prefill) return prefill_->writes();
    return exchange_ ? exchange_->writes() : 0;
  }
  int partial_writes() const {
    if (state_.in_prefill) return prefill_->partial_writes();
    return exchange_ ? exchange_->partial_writes() : 0;
  }
  // The attempt ended so, and its engine may work on at a response in the background. A draining router lets it.
  bool LeavesWork(const AttemptEnd& end) const;
  boost::asio::awaitable<void> CancelWork();
  // Closes the connection to the engine: what the attempt waits for ends at once.
  void Abort() {
    if (prefill_) prefill_->Abort();
    if (exchange_) exchange_->Abort();
    if (watch_) watch_->Leave();
    if (switched_) switched_->Stop();
    if (merged_) merged_->Leave();
  }

 private:
  // The form of the request to the engine.
  struct Plan {
    bool stream = false;      // The engine answers with a stream.
    bool reassemble = false;  // The client does not: its answer is put together here.
    bool translate = false;   // A message becomes a chat, and the answer a message.
  };
  // The parts of the engine's head that decide how its answer is read.
  struct Reply {
    int status = 0;
    bool event_stream = false;
    std::string content_type;
    std::optional<uint64_t> length;
  };

  Plan MakePlan() const;
  SpliceOrder MakeOrder() const;
  // The reason not to send anything to the engine.
  std::optional<AttemptEnd> Unsuitable(const UpstreamPool* pool) const;
  // Counts the tokens of the text that the client has, by the engine or by an estimate.
  boost::asio::awaitable<void> CountText(UpstreamPool& pool);
  // The reason not to go on behind the count.
  std::optional<AttemptEnd> EndAfterCount() const;
  std::string Target() const;
  boost::asio::awaitable<std::optional<AttemptEnd>> Begin(UpstreamPool& pool);
  // A status that an answer may have.
  bool IsAnswer(int status) const;
  std::optional<AttemptEnd> TakeHead(const UpstreamHead& head);
  boost::asio::awaitable<AttemptEnd> ReadEngineError();
  // The answer to a streaming request that is no event stream.
  boost::asio::awaitable<AttemptEnd> ReadNoStream();
  // The body of an error. None: the attempt was interrupted.
  boost::asio::awaitable<std::optional<ShortBody>> ReadErrorBody();
  // The client may leave. The line of its request may be written before the session ends.
  void Detach();
  boost::asio::awaitable<AttemptEnd> Pass();
  boost::asio::awaitable<AttemptEnd> ReadWhole();
  boost::asio::awaitable<AttemptEnd> ReadStream();
  boost::asio::awaitable<AttemptEnd> Switch();

  SessionState& state_;
  Admission& admission_;
  Delivery& delivery_;
  Plan plan_;
  Reply reply_;
  std::unique_ptr<PrefillStage> prefill_;  // A request on a pair has one until the decode engine gets it.
  std::unique_ptr<MergedAnswer> merged_;   // An embedding that others may join has one.
  std::optional<UpstreamExchange> exchange_;
  std::unique_ptr<SwitchedAnswer> switched_;  // A WebSocket has one.
  // A share: a reload may put another pool in its place, or remove the replica, while the attempt waits.
  std::shared_ptr<UpstreamPool> pool_;
  std::unique_ptr<BackgroundWatch> watch_;  // A background response has one once its client has the first answer.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_ATTEMPT_H_
