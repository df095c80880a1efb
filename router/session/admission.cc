#include "router/session/admission.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace penstock {

std::optional<ApiError> Admission::Charge() {
  const PreparedRequest& prepared = state_.prepared;
  if (!prepared.caller.limited) return std::nullopt;
  const Endpoint endpoint = state_.request.endpoint;
  TenantDemand demand;
  demand.prompt = state_.loop.edge().core->Estimate(prepared.model, prepared.facts.text).tokens;
  demand.max_output = prepared.facts.max_output;
  demand.sequences = Generates(endpoint) ? SequencesOf(endpoint, prepared.facts) : 0;
  auto admitted = state_.loop.edge().tenants->Admit(prepared.caller.tenant, demand);
  if (TenantCharge* charge = std::get_if<TenantCharge>(&admitted)) {
    charge_ = std::move(*charge);
    return std::nullopt;
  }
  const TenantDenial& denial = std::get<TenantDenial>(admitted);
  const Refusal reason = denial.by_requests ? Refusal::kTenantRequests : Refusal::kTenantTokens;
  return FromRefusal(Refuse{RequestId(), reason, denial.retry_after, denial.bound, denial.value}, prepared.facts.model);
}

void Admission::Arrive(TicketHolder& holder) {
  const PreparedRequest& prepared = state_.prepared;
  ticket_.emplace(state_.loop, holder);
  const CoreHost::Prompt prompt{prepared.facts.text, prepared.facts.largest_prompt,
                                state_.fleet->book.MaxContext(prepared.model)};
  state_.estimate = ticket_->Arrive(ArrivalOf(state_.request, prepared, *state_.fleet), prompt);
}

void Admission::Requeue(bool aborted) { ticket_->Requeue(Tokens(state_.answer.delivered), !aborted); }

void Admission::Close(Outcome outcome) {
  if (!ticket_ || !ticket_->open()) return;
  const RelayState& answer = state_.answer;
  const RequestFacts& facts = state_.facts();
  RequestClosed closed;
  closed.outcome = outcome;
  closed.output = Tokens(answer.generated());
  if (answer.usage) {
    closed.prompt = answer.usage->prompt;
    if (answer.usage->output > Tokens(0)) closed.output = answer.usage->output;
  }
  closed.hit_limit = answer.finish_reason == "length";
  SettleCharge(closed);
  // The count of a list may cover its first element only, the count of a continued answer covers earlier output too.
  const bool learn = outcome == Outcome::kFinished && facts.prompts == 1 && facts.n == 1 && answer.carried == 0;
  ticket_->Close(closed, state_.prepared.model, learn ? &facts.text : nullptr);
}

// A request that was never forwarded used nothing.
void Admission::SettleCharge(const RequestClosed& closed) {
  const Caller& caller = state_.prepared.caller;
  if (!caller.limited || !state_.forward) return;
  const Endpoint endpoint = state_.request.endpoint;
  const Tokens prompt = closed.prompt > Tokens(0) ? closed.prompt : state_.estimate.tokens;
  charge_.Settle(closed.outcome == Outcome::kRejected ? Tokens(0) : prompt + closed.output);
  if (closed.outcome != Outcome::kFinished || !Generates(endpoint)) return;
  const int64_t sequences = std::max<int64_t>(1, SequencesOf(endpoint, state_.facts()));
  state_.loop.edge().tenants->Learn(caller.tenant, Tokens(closed.output.value() / sequences));
}

}  // namespace penstock
