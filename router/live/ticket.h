// One request at the decision core: a guard that reports its end exactly once on every way out.
//
// Made when a request is about to arrive, destroyed when its session is through with it. The loop delivers the core's
// actions here; they only set flags and tell the holder. Belongs to one loop.
#ifndef PENSTOCK_ROUTER_LIVE_TICKET_H_
#define PENSTOCK_ROUTER_LIVE_TICKET_H_

#include <optional>
#include <variant>

#include "kvmodel/prompt/input_estimate.h"
#include "router/core/contract/action.h"
#include "router/core/contract/event.h"
#include "router/live/event_loop.h"
#include "router/live/live_request.h"

namespace penstock {

using Verdict = std::variant<Forward, Refuse>;

// The owner of a ticket. Its functions run on the ticket's loop.
class TicketHolder {
 public:
  // TakeVerdict() has one.
  virtual void OnVerdict() = 0;
  // The core wants the request back. False: it goes on, which only some reasons allow (MayDecline).
  virtual bool OnAbort(AbortReason reason) = 0;
  // The router ends before the request does.
  virtual void OnCut() = 0;
  // The engine of the replica is down, hangs or sleeps; the request may be at another.
  virtual void OnReplicaLost(ReplicaId replica, EngineLoss loss) = 0;
  // For pages; `id` and `waiting` are the ticket's.
  virtual LiveRequest Describe() const { return {}; }

 protected:
  ~TicketHolder() = default;
};

class Ticket {
 public:
  Ticket(EventLoop& loop, TicketHolder& holder);
  // Still open (its coroutine is being destroyed): closes as a vanished client.
  ~Ticket();
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

  RequestId id() const { return id_; }
  PromptEstimate Arrive(RequestArrived arrival, const CoreHost::Prompt& prompt);
  std::optional<Verdict> TakeVerdict() { return std::exchange(verdict_, std::nullopt); }
  // The last Park, once.
  std::optional<Park> TakePark() { return std::exchange(parked_, std::nullopt); }
  bool open() const { return open_; }
  // At no engine.
  bool waiting() const { return !placed_; }
  LiveRequest Describe() const;
  bool abort_requested() const { return abort_requested_; }
  // The router ends before the request does.
  bool cut() const { return cut_; }

  // The first token of the last Forward was relayed. `counter` is on the progress board from now on, until Requeue,
  // Close or LeaveBoard. A step gives each sequence `tokens_per_step`.
  void OnFirstToken(const TokenCounter& counter, ReplicaId replica, int64_t sequences, double tokens_per_step = 1);
  // `in_prefill`: the replica of Forward::prefill had it.
  void Requeue(Tokens generated, bool avoid_replica, bool in_prefill = false);
  // The first stage of the last Forward ended.
  void EndPrefill(bool handed_over, Tokens cached);
  // The answer can be continued no more: tells the core, once.
  void FixAnswer();
  // Nothing if it is closed already, or was refused.
  void Close(RequestClosed closed, ModelId model = ModelId(), const InputCounts* input = nullptr);

  // From the loop's mailbox.
  void Deliver(const RequestAction& action);
  // From the loop: the session is to end with an error at once.
  void Cut();
  void ReplicaLost(ReplicaId replica, EngineLoss loss) { holder_.OnReplicaLost(replica, loss); }

  // Nobody reads the counter from now on.
  void LeaveBoard();

 private:
  EventLoop& loop_;
  TicketHolder& holder_;
  const RequestId id_;
  LeaseId lease_;
  bool open_ = false;
  bool placed_ = false;
  bool abort_requested_ = false;
  bool fixed_ = false;  // The core knows that the answer cannot be continued.
  bool cut_ = false;
  std::optional<Verdict> verdict_;
  std::optional<Park> parked_;
  std::optional<BoardStream> on_board_;
  DueTimes due_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_TICKET_H_
