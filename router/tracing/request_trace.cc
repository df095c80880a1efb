#include "router/tracing/request_trace.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "router/openai/error/http_status.h"

namespace penstock {
namespace {

constexpr size_t kMostEvents = 128;
constexpr size_t kMostSpans = 64;
constexpr size_t kLongestText = 512;

void Add(SpanAttributes& to, const char* key, absl::string_view text) {
  if (!text.empty()) to.push_back({key, std::string(text.substr(0, kLongestText))});
}
void Add(SpanAttributes& to, const char* key, int64_t number) { to.push_back({key, number}); }
void AddIfKnown(SpanAttributes& to, const char* key, int64_t number) {
  if (number > 0) Add(to, key, number);
}

std::string NameOfAttempt(const AttemptStart& attempt) {
  return absl::StrCat(attempt.operation.empty() ? "attempt" : attempt.operation, " ", attempt.model);
}

}  // namespace

absl::string_view OperationOf(absl::string_view label) {
  if (label == "chat" || label == "responses" || label == "messages") return "chat";
  if (label == "completions") return "text_completion";
  return label == "embeddings" ? label : absl::string_view();
}

TraceHeaders HeadersOf(const RequestTrace* trace) {
  if (trace == nullptr) return {};
  return {trace->Traceparent(), trace->state()};
}

RequestTrace::RequestTrace(TraceContext context, SpanId parent, Instant start, bool recorded)
    : context_(std::move(context)), current_(context_.span) {
  if (!recorded) return;
  recording_ = std::make_unique<Recording>();
  recording_->server.kind = Span::Kind::kServer;
  recording_->server.id = context_.span;
  recording_->server.parent = parent;
  recording_->server.start = start;
}

RequestTrace::RequestTrace(TraceContext context, std::string traceparent)
    : context_(std::move(context)), given_(std::move(traceparent)) {}

std::string RequestTrace::Traceparent() const {
  if (!given_.empty()) return given_;
  return FormatTraceparent(context_.trace, current_, context_.flags);
}

void RequestTrace::OnWait(Instant now, SpanId id) {
  if (!recording_) return;
  Span& wait = recording_->wait.emplace();
  wait.name = "queue";
  wait.id = id;
  wait.parent = context_.span;
  wait.start = now;
}

void RequestTrace::OnPark(absl::string_view reason, int64_t position) {
  if (!recording_ || !recording_->wait) return;
  Add(recording_->wait->attributes, "penstock.wait.reason", reason);
  Add(recording_->wait->attributes, "penstock.wait.position", position);
}

void RequestTrace::EndWait(Instant now) {
  if (!recording_->wait) return;
  recording_->wait->end = now;
  if (recording_->ended.size() < kMostSpans) recording_->ended.push_back(*std::move(recording_->wait));
  recording_->wait.reset();
}

void RequestTrace::OnForward(Instant now, const AttemptStart& attempt) {
  current_ = attempt.id;
  if (!recording_) return;
  EndWait(now);
  Span& span = recording_->attempt.emplace();
  span.name = NameOfAttempt(attempt);
  span.kind = Span::Kind::kClient;
  span.id = attempt.id;
  span.parent = context_.span;
  span.start = now;
  Add(span.attributes, "gen_ai.operation.name", attempt.operation);
  Add(span.attributes, "gen_ai.provider.name", attempt.engine);
  Add(span.attributes, "gen_ai.request.model", attempt.model);
  Add(span.attributes, "http.request.method", attempt.method);
  if (attempt.number > 1) Add(span.attributes, "http.request.resend_count", attempt.number - 1);
  Add(span.attributes, "penstock.replica", attempt.replica);
  Add(span.attributes, "penstock.attempt", attempt.number);
  span.attributes.push_back({"penstock.expected_ttft", attempt.expected_ttft.seconds()});
}

void RequestTrace::OnAttemptEnd(Instant now, const AttemptResult& result) {
  if (!recording_ || !recording_->attempt) return;
  Span& span = *recording_->attempt;
  span.end = now;
  AddIfKnown(span.attributes, "http.response.status_code", result.status);
  if (!result.error.empty()) {
    span.failed = true;
    span.message = std::string(result.message.substr(0, kLongestText));
    Add(span.attributes, "error.type", result.error);
  }
  if (recording_->ended.size() < kMostSpans) recording_->ended.push_back(std::move(span));
  recording_->attempt.reset();
}

void RequestTrace::OnEvent(Instant now, absl::string_view name, SpanAttributes attributes) {
  if (!recording_ || recording_->server.events.size() >= kMostEvents) return;
  recording_->server.events.push_back({now, std::string(name), std::move(attributes)});
}

EndedTrace RequestTrace::End(Instant now, const RequestSummary& summary) {
  if (!recording_) return {};
  EndWait(now);
  OnAttemptEnd(now, {});
  Span& server = recording_->server;
  server.name = absl::StrCat(summary.method, " ", summary.route);
  server.end = now;
  if (summary.ttft) {
    SpanAttributes attributes;
    attributes.push_back({"penstock.ttft", summary.ttft->seconds()});
    server.events.push_back({server.start + *summary.ttft, "first_token", std::move(attributes)});
  }
  SpanAttributes& to = server.attributes;
  Add(to, "http.request.method", summary.method);
  Add(to, "http.route", summary.route);
  Add(to, "url.path", summary.path);
  Add(to, "url.scheme", summary.scheme);
  AddIfKnown(to, "http.response.status_code", summary.status);
  Add(to, "client.address", summary.client);
  Add(to, "gen_ai.operation.name", summary.operation);
  Add(to, "gen_ai.request.model", summary.model);
  AddIfKnown(to, "gen_ai.request.max_tokens", summary.max_output);
  AddIfKnown(to, "gen_ai.usage.input_tokens", summary.prompt_tokens);
  AddIfKnown(to, "gen_ai.usage.output_tokens", summary.output_tokens);
  if (!summary.finish_reason.empty()) {
    std::string reason(summary.finish_reason.substr(0, kLongestText));
    to.push_back({"gen_ai.response.finish_reasons", std::vector<std::string>{std::move(reason)}});
  }
  to.push_back({"penstock.stream", summary.streamed});
  Add(to, "penstock.request.id", summary.request_id);
  Add(to, "penstock.class", summary.service_class);
  Add(to, "penstock.tenant", summary.tenant);
  Add(to, "penstock.outcome", summary.outcome);
  if (!summary.reason.empty()) {
    Add(to, "error.type", summary.reason);
    Add(to, "penstock.reason", summary.reason);
    SpanAttributes attributes;
    Add(attributes, "penstock.reason", summary.reason);
    server.events.push_back({now, "end", std::move(attributes)});
  }
  server.failed = http_status::IsServerError(summary.status);
  if (server.failed) server.message = std::string(summary.reason);
  EndedTrace trace{context_.trace, context_.flags, context_.state, {}};
  trace.spans.push_back(std::move(server));
  for (Span& span : recording_->ended) trace.spans.push_back(std::move(span));
  recording_.reset();
  return trace;
}

}  // namespace penstock
