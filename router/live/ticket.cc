#include "router/live/ticket.h"

#include <utility>

namespace penstock {

Ticket::Ticket(EventLoop& loop, Signal& wake, std::function<void()> on_abort)
    : loop_(loop), wake_(wake), on_abort_(std::move(on_abort)), id_(loop.NextRequestId()) {
  loop_.Register(id_, *this);
}

Ticket::~Ticket() {
  Close(RequestClosed{id_, Outcome::kClientGone, Tokens(0), Tokens(0), false});
  loop_.Forget(id_);
}

PromptEstimate Ticket::Arrive(RequestArrived arrival, const CoreHost::Prompt& prompt) {
  open_ = true;
  arrival.request = id_;
  return loop_.edge().core->SubmitArrival(arrival, prompt);
}

void Ticket::OnFirstToken(RelayCounter& counter, ReplicaId replica, int64_t sequences) {
  if (!open_ || counter_ != nullptr) return;
  loop_.edge().core->Submit(FirstToken{id_});
  counter_ = &counter;
  loop_.edge().board->Add(loop_.index(), counter, id_, replica, sequences);
}

void Ticket::LeaveBoard() {
  if (counter_ != nullptr) loop_.edge().board->Remove(loop_.index(), *counter_);
  counter_ = nullptr;
}

void Ticket::Requeue(Tokens generated, bool avoid_replica) {
  LeaveBoard();
  abort_requested_ = false;
  parked_.reset();
  if (open_) loop_.edge().core->Submit(RequestRequeued{id_, generated, avoid_replica});
}

void Ticket::Close(RequestClosed closed, ModelId model, const TextCounts* text) {
  LeaveBoard();
  if (!std::exchange(open_, false)) return;
  closed.request = id_;
  loop_.edge().core->SubmitClosed(closed, model, text);
}

void Ticket::Deliver(const RequestAction& action) {
  if (!open_) return;
  if (const auto* forward = std::get_if<Forward>(&action)) {
    lease_ = forward->lease;
    verdict_ = *forward;
    wake_.Notify();
  } else if (const auto* refuse = std::get_if<Refuse>(&action)) {
    open_ = false;  // The core has forgotten it.
    verdict_ = *refuse;
    wake_.Notify();
  } else if (const auto* park = std::get_if<Park>(&action)) {
    parked_ = *park;
  } else if (const auto* abort = std::get_if<Abort>(&action); abort != nullptr && abort->lease == lease_) {
    abort_requested_ = true;
    on_abort_();
  }
}

void Ticket::Cut() {
  cut_ = true;
  on_abort_();
  wake_.Notify();
}

}  // namespace penstock
