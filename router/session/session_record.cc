#include "router/session/session_record.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/engines/catalogue/engine_catalogue.h"
#include "router/session/state/preparation.h"
#include "router/session/state/refusal_notes.h"
#include "router/telemetry/engine_metrics.h"
#include "router/tracing/begin_trace.h"
#include "router/tracing/trace_ids.h"

namespace penstock {
namespace {

absl::string_view EventOf(AbortReason reason) {
  switch (reason) {
    case AbortReason::kPoolFull:
      return "taken_back";
    case AbortReason::kParking:
      return "parked";
    case AbortReason::kEviction:
      return "evicted";
  }
  return "taken_back";
}

// The library's own way goes through printf, which costs ten times as much.
std::string TextOf(const boost::asio::ip::address& address) {
  if (!address.is_v4()) return address.to_string();
  const auto bytes = address.to_v4().to_bytes();
  return absl::StrCat(bytes[0], ".", bytes[1], ".", bytes[2], ".", bytes[3]);
}

}  // namespace

DecisionLog* SessionRecord::LogFor(DecisionEntry::Kind kind) const {
  DecisionLog* log = state_.loop.edge().log;
  return log != nullptr && (log->Wants(kind) || log->TakesRecent(kind, Now())) ? log : nullptr;
}

DecisionEntry SessionRecord::EntryOf(DecisionEntry::Kind kind) const {
  DecisionEntry entry;
  entry.kind = kind;
  entry.request_id = state_.request.id;
  entry.endpoint = std::string(TraitsOf(state_.request.endpoint).label);
  entry.model = std::string(ModelNameIn(*state_.fleet, state_.facts().model));
  entry.service_class = state_.prepared.service_class.name;
  entry.tenant = state_.prepared.caller.name;
  const boost::asio::ip::address& client = state_.request.client_address;
  if (!client.is_unspecified()) entry.client = TextOf(client);
  if (trace() != nullptr) entry.trace_id = trace()->trace_id();
  return entry;
}

LiveRequest SessionRecord::Describe() const {
  LiveRequest live;
  live.request_id = state_.request.id;
  live.endpoint = std::string(TraitsOf(state_.request.endpoint).label);
  live.model = state_.facts().model;
  live.service_class = state_.prepared.service_class.name;
  live.tenant = state_.prepared.caller.name;
  live.replica = state_.ReplicaName();
  live.prefill = state_.PrefillName();
  if (state_.park) live.reason = state_.park->reason;
  live.age = Now() - state_.arrival;
  if (state_.forward) {
    live.waited = state_.forward->waited;
    live.expected_ttft = state_.forward->expected_ttft;
    live.peak_share = state_.forward->peak_share;
  }
  live.prompt_estimate = state_.estimate.tokens;
  live.max_output = state_.facts().max_output;
  live.output = state_.answer.output();
  live.attempts = state_.ledger.attempts();
  return live;
}

void SessionRecord::End(RequestOutcome outcome, absl::string_view reason) {
  if (std::exchange(ended_, true)) return;
  if (outcome != RequestOutcome::kOk) delivery_.OnEnd(/*ended_well=*/false);
  RequestRecord record;
  record.request_id = state_.request.id;
  record.endpoint = std::string(TraitsOf(state_.request.endpoint).label);
  record.model = std::string(ModelNameIn(*state_.fleet, state_.facts().model));
  record.service_class = state_.prepared.service_class.name;
  record.tenant = state_.prepared.caller.name;
  record.replica = state_.ReplicaName();
  record.outcome = outcome;
  record.reason = std::string(reason);
  record.status = state_.client().status() != 0 ? state_.client().status() : RowOf(ErrorName::kClientGone).status;
  record.streamed = state_.facts().stream && !state_.facts().stream_inside;
  record.prompt_estimate = state_.estimate.tokens;
  record.output = state_.answer.output();
  if (state_.answer.usage) {
    record.prompt = state_.answer.usage->prompt;
    record.output = std::max(record.output, state_.answer.usage->output);
  } else if (state_.answer.reported) {
    record.prompt = state_.answer.reported->prompt;
  }
  const ActiveTokenCounter& active = delivery_.active();
  record.active_tokens = active.active();
  record.late_tokens = active.late();
  // The client of a request that ended badly may never have got tokens that its engine generated.
  record.abandoned_tokens = outcome == RequestOutcome::kOk ? 0 : std::max(active.abandoned(), record.output.value());
  state_.loop.delivered().Waste(record.abandoned_tokens);
  if (state_.forward) record.queue_wait = state_.forward->waited;
  record.ttft = delivery_.ttft();
  record.tpot = delivery_.tpot();
  record.total = Now() - state_.arrival;
  state_.loop.edge().telemetry->OnRequest(record);
  if (outcome == RequestOutcome::kOk || outcome == RequestOutcome::kClientGone) LogEnd(record);
  EndTrace(record);
  if (state_.request.record != nullptr) *state_.request.record = std::move(record);
}

void SessionRecord::EndTrace(const RequestRecord& record) {
  TraceSink* sink = state_.loop.edge().traces;
  if (sink == nullptr || trace() == nullptr || !trace()->recorded()) return;
  if (!IsWanted(*trace(), *sink, record.status, !record.tenant.empty())) return;
  const EndpointTraits traits = TraitsOf(state_.request.endpoint);
  const boost::asio::ip::address& client = state_.request.client_address;
  RequestSummary summary;
  const SessionRequest& request = state_.request;
  summary.method = request.method;
  summary.path = request.client_path.empty() ? traits.path : request.client_path;
  summary.route = request.route != nullptr ? absl::string_view(request.route->path) : summary.path;
  summary.scheme = state_.fleet->config().tls ? "https" : "http";
  if (!client.is_unspecified()) summary.client = TextOf(client);
  summary.operation = OperationOf(traits.label);
  summary.request_id = record.request_id;
  summary.model = state_.facts().model;
  summary.service_class = record.service_class;
  summary.tenant = record.tenant;
  summary.finish_reason = state_.answer.finish_reason;
  summary.outcome = LabelOf(record.outcome);
  summary.reason = record.reason;
  summary.status = record.status;
  summary.streamed = record.streamed;
  summary.prompt_tokens = record.prompt.value();
  summary.output_tokens = record.output.value();
  summary.max_output = state_.facts().max_output.value();
  summary.ttft = record.ttft;
  sink->Add(trace()->End(Now(), summary));
}

void SessionRecord::OnWait() {
  if (trace() != nullptr && trace()->recorded()) trace()->OnWait(Now(), NewSpanId());
}

void SessionRecord::TraceForward(RequestTrace& trace) {
  const std::string replica = state_.ReplicaName();
  AttemptStart start;
  start.id = NewSpanId();
  start.replica = replica;
  if (!replica.empty()) {
    const auto& discovery = state_.fleet->book.known(state_.forward->replica).discovery;
    if (discovery) start.engine = EngineOf(discovery->kind).name;
  }
  start.method = state_.request.method;
  start.model = state_.facts().model;
  start.operation = OperationOf(TraitsOf(state_.request.endpoint).label);
  start.number = state_.ledger.attempts();
  start.expected_ttft = state_.forward->expected_ttft;
  trace.OnForward(Now(), start);
}

void SessionRecord::OnAttemptEnd(const AttemptEnd& end) {
  if (trace() == nullptr || !trace()->recorded()) return;
  AttemptResult result;
  result.status = state_.engine_status;
  switch (end.kind) {
    case AttemptEnd::Kind::kFinished:
      break;
    case AttemptEnd::Kind::kClientGone:
      result.error = LabelOf(RequestOutcome::kClientGone);
      break;
    case AttemptEnd::Kind::kAborted:
      result.error = "aborted";
      break;
    case AttemptEnd::Kind::kCut:
      result.error = "cut";
      break;
    case AttemptEnd::Kind::kFailed:
      result.error = LabelOf(end.engine_error);
      break;
    case AttemptEnd::Kind::kRejected:
      result.error = kRejectedReason;
      break;
  }
  if (end.error != nullptr) result.message = end.error->message;
  trace()->OnAttemptEnd(Now(), result);
}

void SessionRecord::LogEnd(const RequestRecord& record) {
  DecisionLog* log = LogFor(DecisionEntry::Kind::kEnd);
  if (log == nullptr) return;
  DecisionEntry entry = EntryOf(DecisionEntry::Kind::kEnd);
  entry.replica = record.replica;
  entry.reason = std::string(LabelOf(record.outcome));
  entry.status = record.status;
  entry.prompt_estimate = record.prompt_estimate;
  if (record.prompt > Tokens(0)) entry.prompt = record.prompt;
  entry.output = record.output;
  entry.waited = record.queue_wait;
  entry.total = record.total;
  log->Write(std::move(entry));
}

void SessionRecord::OnForward() {
  if (trace() != nullptr) TraceForward(*trace());
  DecisionLog* log = LogFor(DecisionEntry::Kind::kForward);
  if (log == nullptr) return;
  DecisionEntry entry = EntryOf(DecisionEntry::Kind::kForward);
  entry.replica = state_.ReplicaName();
  entry.prompt_estimate = state_.estimate.tokens;
  entry.max_output = state_.facts().max_output;
  entry.waited = state_.forward->waited;
  entry.expected_ttft = state_.forward->expected_ttft;
  entry.peak_share = state_.forward->peak_share;
  log->Write(std::move(entry));
}

void SessionRecord::OnPark(const Park& park) {
  if (trace() != nullptr) trace()->OnPark(TraitsOf(park.reason).label, park.position);
  DecisionLog* log = LogFor(DecisionEntry::Kind::kPark);
  if (log == nullptr) return;
  DecisionEntry entry = EntryOf(DecisionEntry::Kind::kPark);
  entry.reason = std::string(TraitsOf(park.reason).label);
  entry.position = park.position;
  entry.prompt_estimate = state_.estimate.tokens;
  entry.max_output = state_.facts().max_output;
  log->Write(std::move(entry));
}

void SessionRecord::OnAbort(AbortReason reason) {
  if (trace() != nullptr) trace()->OnEvent(Now(), EventOf(reason));
  DecisionLog* log = LogFor(DecisionEntry::Kind::kAbort);
  if (log == nullptr) return;
  DecisionEntry entry = EntryOf(DecisionEntry::Kind::kAbort);
  entry.replica = state_.ReplicaName();
  entry.prompt_estimate = state_.estimate.tokens;
  entry.output = state_.answer.output();
  entry.total = Now() - state_.arrival;
  log->Write(std::move(entry));
}

void SessionRecord::OnRefusal(const ApiError& error, const Refuse& refuse) {
  DecisionLog* log = LogFor(DecisionEntry::Kind::kRefuse);
  if (log == nullptr) return;
  const std::optional<int64_t> suppressed = TakeRefusalLine(state_.loop.edge(), error.status);
  if (!suppressed) return;
  DecisionEntry entry = EntryOf(DecisionEntry::Kind::kRefuse);
  entry.suppressed = *suppressed;
  entry.reason = error.reason;
  entry.status = state_.client().status();
  // Before the arrival at the core there is no estimate.
  if (state_.estimate.tokens > Tokens(0)) entry.prompt_estimate = state_.estimate.tokens;
  if (refuse.bound != 0) entry.bound = refuse.bound;
  if (refuse.value != 0) entry.value = refuse.value;
  entry.waited = Now() - state_.arrival;
  entry.retry_after = error.retry_after;
  log->Write(std::move(entry));
}

void SessionRecord::OnEngineError(const AttemptEnd& end) {
  state_.loop.edge().telemetry->engines().OnError(state_.ReplicaName(), end.engine_error);
  LogError("attempt", LabelOf(end.engine_error), *end.error);
}

void SessionRecord::OnRejection(const ApiError& error) {
  if (error.bad_input) return state_.loop.edge().telemetry->OnBadInput(*error.bad_input);
  const std::optional<int64_t> suppressed = state_.loop.edge().rejected_lines.Take(Now());
  if (suppressed) LogError("request", error.reason, error, LogLevel::kWarning, *suppressed);
}

void SessionRecord::LogError(absl::string_view ended, absl::string_view reason, const ApiError& error, LogLevel level,
                             int64_t suppressed) {
  DecisionLog* log = LogFor(DecisionEntry::Kind::kError);
  if (log == nullptr) return;
  DecisionEntry entry = EntryOf(DecisionEntry::Kind::kError);
  entry.level = level;
  entry.suppressed = suppressed;
  entry.replica = state_.ReplicaName();
  entry.ended = std::string(ended);
  entry.reason = std::string(reason);
  entry.status = error.status;
  entry.message = error.message;
  if (!error.detail.empty()) absl::StrAppend(&entry.message, " (", error.detail, ")");
  log->Write(std::move(entry));
}

}  // namespace penstock
