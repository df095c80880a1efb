#include "router/live/ticket.h"

#include <utility>

#include "base/clock.h"

namespace penstock {

Ticket::Ticket(EventLoop& loop, TicketHolder& holder) : loop_(loop), holder_(holder), id_(loop.NextRequestId()) {
  loop_.Register(id_, *this);
}

Ticket::~Ticket() {
  Close(RequestClosed{id_, Outcome::kClientGone, Tokens(0), Tokens(0), false});
  loop_.Forget(id_);
}

PromptEstimate Ticket::Arrive(RequestArrived arrival, const CoreHost::Prompt& prompt) {
  open_ = true;
  arrival.request = id_;
  fixed_ = !arrival.continues;
  if (const FleetView* fleet = loop_.fleet().get()) {
    const std::vector<ClassSpec>& classes = fleet->book.fleet().classes;
    const size_t position = arrival.service_class.value();
    if (position < classes.size()) due_ = {Now() + classes[position].ttft, classes[position].tpot};
  }
  return loop_.edge().core->SubmitArrival(std::move(arrival), prompt);
}

void Ticket::OnFirstToken(const TokenCounter& counter, ReplicaId replica, int64_t sequences, double tokens_per_step) {
  if (!open_ || on_board_) return;
  loop_.edge().core->Submit(FirstToken{id_});
  on_board_.emplace(counter, id_, replica, sequences, tokens_per_step, due_);
  loop_.edge().board->Add(loop_.index(), *on_board_);
}

LiveRequest Ticket::Describe() const {
  LiveRequest live = holder_.Describe();
  live.id = id_;
  live.waiting = waiting();
  return live;
}

void Ticket::LeaveBoard() {
  if (on_board_) loop_.edge().board->Remove(loop_.index(), *on_board_);
  on_board_.reset();
}

void Ticket::Requeue(Tokens generated, bool avoid_replica, bool in_prefill) {
  LeaveBoard();
  abort_requested_ = false;
  placed_ = false;
  parked_.reset();
  if (open_) loop_.edge().core->Submit(RequestRequeued{id_, generated, avoid_replica, in_prefill});
}

void Ticket::EndPrefill(bool handed_over, Tokens cached) {
  if (open_) loop_.edge().core->Submit(PrefillEnded{id_, handed_over, cached});
}

void Ticket::FixAnswer() {
  if (open_ && !std::exchange(fixed_, true)) loop_.edge().core->Submit(AnswerFixed{id_});
}

void Ticket::Close(RequestClosed closed, ModelId model, const InputCounts* input) {
  LeaveBoard();
  if (!std::exchange(open_, false)) return;
  closed.request = id_;
  loop_.edge().core->SubmitClosed(closed, model, input);
}

void Ticket::Deliver(const RequestAction& action) {
  if (!open_) return;
  if (const auto* forward = std::get_if<Forward>(&action)) {
    lease_ = forward->lease;
    placed_ = true;
    verdict_ = *forward;
    holder_.OnVerdict();
  } else if (const auto* refuse = std::get_if<Refuse>(&action)) {
    open_ = false;  // The core has forgotten it.
    verdict_ = *refuse;
    holder_.OnVerdict();
  } else if (const auto* park = std::get_if<Park>(&action)) {
    parked_ = *park;
  } else if (const auto* abort = std::get_if<Abort>(&action); abort != nullptr && abort->lease == lease_) {
    abort_requested_ = true;
    if (holder_.OnAbort(abort->reason)) return;
    abort_requested_ = false;
    FixAnswer();
  }
}

void Ticket::Cut() {
  cut_ = true;
  holder_.OnCut();
}

}  // namespace penstock
