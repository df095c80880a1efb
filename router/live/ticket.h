// One request's seat at the decision core: a guard that reports its end exactly once on every way out.
//
// Made when a request is about to arrive, destroyed when its session is through with it. Actions of the core are
// delivered here on the loop; nothing but flags change then and the session is woken. Belongs to one loop.
#ifndef PENSTOCK_ROUTER_LIVE_TICKET_H_
#define PENSTOCK_ROUTER_LIVE_TICKET_H_

#include <functional>
#include <optional>
#include <variant>

#include "kvmodel/prompt_estimate.h"
#include "router/core/contract/action.h"
#include "router/core/contract/event.h"
#include "router/live/event_loop.h"
#include "router/live/signal.h"

namespace penstock {

using Verdict = std::variant<Forward, Refuse>;

class Ticket {
 public:
  // `wake` is notified when a verdict comes. `on_abort` is called when the core wants the request back, or it is cut.
  Ticket(EventLoop& loop, Signal& wake, std::function<void()> on_abort);
  // Still open (its coroutine is being destroyed): closes as a vanished client.
  ~Ticket();
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

  RequestId id() const { return id_; }
  PromptEstimate Arrive(RequestArrived arrival, const CoreHost::Prompt& prompt);
  std::optional<Verdict> TakeVerdict() { return std::exchange(verdict_, std::nullopt); }
  std::optional<Park> parked() const { return parked_; }
  bool open() const { return open_; }
  bool abort_requested() const { return abort_requested_; }
  // The router ends before the request does.
  bool cut() const { return cut_; }

  // The first token of this Forward was relayed; `counter` is on the progress board from now on until the end or
  // return.
  void OnFirstToken(RelayCounter& counter, ReplicaId replica, int64_t sequences);
  void Requeue(Tokens generated, bool avoid_replica);
  // Nothing happens when it is closed already, or was refused.
  void Close(RequestClosed closed, ModelId model = ModelId(), const TextCounts* text = nullptr);

  // From the loop's mailbox.
  void Deliver(const RequestAction& action);
  // From the loop: the session is to end with an error at once.
  void Cut();

  // The counter is not read any more.
  void LeaveBoard();

 private:
  EventLoop& loop_;
  Signal& wake_;
  const std::function<void()> on_abort_;
  const RequestId id_;
  LeaseId lease_;
  bool open_ = false;
  bool abort_requested_ = false;
  bool cut_ = false;
  std::optional<Verdict> verdict_;
  std::optional<Park> parked_;
  RelayCounter* counter_ = nullptr;  // On the board.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_TICKET_H_
