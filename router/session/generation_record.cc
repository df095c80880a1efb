#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "router/openai/request/routes.h"
#include "router/session/generation.h"

namespace penstock {

namespace {

constexpr int kClientClosedRequest = 499;

}  // namespace

void Generation::OnClientGone() {
  CloseTicket(Outcome::kClientGone);
  if (exchange_) exchange_->Abort();
  wake_.Notify();
}

void Generation::CloseTicket(Outcome outcome) {
  if (ticket_ == nullptr || !ticket_->open()) return;
  RequestClosed closed;
  closed.outcome = outcome;
  closed.output = Tokens(state_.generated());
  if (state_.usage) {
    closed.prompt = state_.usage->prompt;
    if (state_.usage->output > Tokens(0)) closed.output = state_.usage->output;
  }
  closed.hit_limit = state_.finish_reason == "length";
  SettleCharge(closed);
  // A list's count may be of its first element only, a continued answer's includes what was generated before.
  const bool learn = outcome == Outcome::kFinished && facts_.prompts == 1 && facts_.n == 1 && state_.carried == 0;
  ticket_->Close(closed, model_, learn ? &facts_.text : nullptr);
}

// What was never forwarded used nothing.
void Generation::SettleCharge(const RequestClosed& closed) {
  if (!caller_.limited || !forward_) return;
  const Tokens prompt = closed.prompt > Tokens(0) ? closed.prompt : estimate_.tokens;
  charge_.Settle(closed.outcome == Outcome::kRejected ? Tokens(0) : prompt + closed.output);
  if (closed.outcome != Outcome::kFinished || !Generates()) return;
  loop_.edge().tenants->Learn(caller_.tenant, Tokens(closed.output.value() / std::max<int64_t>(1, Sequences())));
}

void Generation::Record(RequestOutcome outcome, absl::string_view reason) {
  if (std::exchange(recorded_, true)) return;
  RequestRecord record;
  record.request_id = answer_.request_id();
  record.endpoint = std::string(EndpointLabel(endpoint_));
  record.model = facts_.model;
  record.service_class = class_.name;
  record.tenant = caller_.name;
  record.replica = ReplicaName();
  record.outcome = outcome;
  record.reason = std::string(reason);
  record.status = answer_.status() != 0 ? answer_.status() : kClientClosedRequest;
  record.streamed = facts_.stream;
  record.prompt_estimate = estimate_.tokens;
  if (outcome != RequestOutcome::kOk) active_.OnEnd(false);
  record.output = Tokens(state_.generated());
  if (state_.usage) {
    record.prompt = state_.usage->prompt;
    record.output = std::max(record.output, state_.usage->output);
  }
  record.active_tokens = active_.active();
  record.late_tokens = active_.late();
  record.abandoned_tokens = active_.abandoned();
  if (forward_) record.queue_wait = forward_->waited;
  if (first_token_at_) record.ttft = *first_token_at_ - arrival_;
  if (first_token_at_ && state_.delivered > 1) {
    record.tpot = Duration::Nanoseconds((last_token_at_ - *first_token_at_).nanoseconds() / (state_.delivered - 1));
  }
  record.total = Now() - arrival_;
  loop_.edge().telemetry->OnRequest(record);
  if (outcome == RequestOutcome::kOk || outcome == RequestOutcome::kClientGone) LogEnd(record);
}

void Generation::LogEnd(const RequestRecord& record) {
  DecisionLog* log = loop_.edge().log;
  if (log == nullptr || !log->Wants(DecisionEntry::Kind::kEnd)) return;
  DecisionEntry entry;
  entry.kind = DecisionEntry::Kind::kEnd;
  entry.request_id = record.request_id;
  entry.endpoint = record.endpoint;
  entry.model = record.model;
  entry.service_class = record.service_class;
  entry.tenant = record.tenant;
  entry.replica = record.replica;
  entry.reason = std::string(LabelOf(record.outcome));
  entry.status = record.status;
  entry.prompt = record.prompt;
  entry.output = record.output;
  entry.waited = record.queue_wait;
  entry.total = record.total;
  log->Write(std::move(entry));
}

void Generation::LogEngineError(const AttemptEnd& end) {
  loop_.edge().telemetry->OnEngineError(ReplicaName(), end.engine_error);
  DecisionLog* log = loop_.edge().log;
  if (log == nullptr) return;
  DecisionEntry entry;
  entry.kind = DecisionEntry::Kind::kError;
  entry.request_id = answer_.request_id();
  entry.endpoint = std::string(EndpointLabel(endpoint_));
  entry.model = facts_.model;
  entry.replica = ReplicaName();
  entry.reason = std::string(LabelOf(end.engine_error));
  entry.status = end.error->status;
  entry.message = end.error->message;
  log->Write(std::move(entry));
}

void Generation::LogRefusal(const ApiError& error, const Refuse& refuse) {
  if (loop_.edge().log == nullptr) return;
  DecisionEntry entry;
  entry.kind = DecisionEntry::Kind::kRefuse;
  entry.request_id = answer_.request_id();
  entry.endpoint = std::string(EndpointLabel(endpoint_));
  entry.model = facts_.model;
  entry.service_class = class_.name;
  entry.tenant = caller_.name;
  entry.reason = error.reason;
  entry.status = answer_.status();
  entry.prompt = estimate_.tokens;
  entry.bound = refuse.bound;
  entry.value = refuse.value;
  entry.waited = Now() - arrival_;
  entry.retry_after = refuse.retry_after;
  loop_.edge().log->Write(std::move(entry));
}

void Generation::LogForward() {
  DecisionLog* log = loop_.edge().log;
  if (log == nullptr || !log->Wants(DecisionEntry::Kind::kForward)) return;
  DecisionEntry entry;
  entry.kind = DecisionEntry::Kind::kForward;
  entry.request_id = answer_.request_id();
  entry.endpoint = std::string(EndpointLabel(endpoint_));
  entry.model = facts_.model;
  entry.service_class = class_.name;
  entry.tenant = caller_.name;
  entry.replica = ReplicaName();
  entry.prompt = estimate_.tokens;
  entry.max_output = facts_.max_output;
  entry.waited = forward_->waited;
  entry.expected_ttft = forward_->expected_ttft;
  entry.peak_share = forward_->peak_share;
  log->Write(std::move(entry));
}

std::string Generation::ReplicaName() const {
  if (!forward_ || forward_->replica.value() >= fleet_->seats.size()) return "";
  return seat().name;
}

HeaderList Generation::AnswerHeaders() const {
  HeaderList headers = engine_headers_;
  if (forward_ && FindHeader(request_.headers, "x-penstock-receipt") == "1") {
    headers.Add("x-penstock-receipt", ReceiptJson());
  }
  return headers;
}

std::string Generation::ReceiptJson() const {
  return absl::StrCat(
      "{\"replica\":", JsonQuote(ReplicaName()), ",\"class\":", JsonQuote(class_.name),
      absl::StrFormat(",\"waited_ms\":%.1f,\"expected_ttft_ms\":%.1f,\"peak_share\":%.4f",
                      forward_->waited.milliseconds(), forward_->expected_ttft.milliseconds(), forward_->peak_share),
      ",\"prompt_tokens_estimate\":", estimate_.tokens.value(), ",\"attempts\":", attempts_, ",\"resumes\":", resumes_,
      "}");
}

}  // namespace penstock
