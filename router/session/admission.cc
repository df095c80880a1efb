#include "router/session/admission.h"

#include <algorithm>
#include <utility>

namespace penstock {

void Admission::Arrive(TicketHolder& holder) {
  const PreparedRequest& prepared = state_.prepared;
  ticket_.emplace(state_.loop, holder);
  const CoreHost::Prompt prompt{InputOf(prepared.facts), prepared.facts.LargestPrompt(),
                                state_.fleet->book.MaxContext(prepared.model), prepared.facts.fixed_prompt};
  state_.estimate = ticket_->Arrive(ArrivalOf(state_.request, prepared, *state_.fleet), prompt);
  // Another look under the core's lock, which only a tenant with limits costs.
  if (prepared.caller.limited) state_.allowance = state_.loop.edge().core->AllowanceOf(prepared.caller.tenant);
}

void Admission::Requeue(bool returns, Duration pause) {
  if (pause == Duration()) return Return(returns);
  pause_.emplace(state_.loop.deadlines(), [this, returns] { Return(returns); });
  pause_->Arm(pause);
}

void Admission::Return(bool returns) {
  const RelayState& answer = state_.answer;
  ticket_->Requeue(Tokens(std::max(answer.carried, answer.relayed.before)), !returns, state_.in_prefill);
}

void Admission::Close(Outcome outcome) {
  if (!ticket_ || !ticket_->open()) return;
  const RelayState& answer = state_.answer;
  const RequestFacts& facts = state_.facts();
  RequestClosed closed;
  closed.outcome = outcome;
  closed.output = answer.output();
  if (answer.usage) {
    closed.prompt = answer.usage->prompt;
    // The decode engine of a pair counts what came from the other one, or the hits there.
    if (facts.prompts == 1 && state_.handover.empty()) closed.cached = answer.usage->cached;
  }
  closed.hit_limit = answer.finish_reason == "length";
  // The count of a list may cover its first element only, the count of a continued answer covers earlier output too.
  const bool learn =
      outcome == Outcome::kFinished && !facts.fixed_prompt && facts.prompts == 1 && facts.n == 1 && answer.carried == 0;
  if (learn && answer.usage && !answer.usage_check.failed) {
    state_.loop.TokensPerEventOf(state_.forward->replica).Observe(answer.usage->output.value(), answer.relayed.events);
  }
  // Nothing is to be continued any more.
  if (outcome == Outcome::kFinished) state_.answer.text = DeliveredText();
  if (!learn) return ticket_->Close(closed, state_.prepared.model);
  const InputCounts input = InputOf(facts);
  ticket_->Close(closed, state_.prepared.model, &input);
}

}  // namespace penstock
