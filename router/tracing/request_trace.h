// The trace of one request: its context for engines and logs, and its spans if it is sampled.
//
// The server's span holds the whole request. Its children are the waits in the queue and the attempts at engines. A
// request that is not sampled has the context only, and each call returns at once. The calls come in the order of the
// request's life. Pure: times and ids are arguments. One owner.
#ifndef PENSTOCK_ROUTER_TRACING_REQUEST_TRACE_H_
#define PENSTOCK_ROUTER_TRACING_REQUEST_TRACE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "base/units.h"
#include "router/tracing/span.h"
#include "router/tracing/trace_context.h"

namespace penstock {

// An attempt at an engine as it begins.
struct AttemptStart {
  SpanId id;
  absl::string_view replica;
  absl::string_view engine;  // Its kind, as vllm.
  absl::string_view method = "POST";
  absl::string_view model;
  absl::string_view operation;  // The gen_ai name; empty: none.
  int number = 1;               // From one.
  Duration expected_ttft;
};

// The same as it ends.
struct AttemptResult {
  int status = 0;           // The engine's; 0: no answer.
  absl::string_view error;  // Empty: it went well.
  absl::string_view message;
};

// The request as it ended.
struct RequestSummary {
  absl::string_view method;
  absl::string_view path;   // Without a query.
  absl::string_view route;  // The path, or the rule that it matches.
  absl::string_view scheme;
  std::string client;
  absl::string_view operation;
  absl::string_view request_id;
  absl::string_view model;
  absl::string_view service_class;
  absl::string_view tenant;
  absl::string_view finish_reason;
  absl::string_view outcome;
  absl::string_view reason;  // The refusal or failure; empty: none.
  int status = 0;
  bool streamed = false;
  int64_t prompt_tokens = 0;  // 0: unknown.
  int64_t output_tokens = 0;
  int64_t max_output = 0;        // 0: no limit.
  std::optional<Duration> ttft;  // Since the start.
};

class RequestTrace {
 public:
  // `parent`: the span of the client. `context.span`: the server's own span.
  RequestTrace(TraceContext context, SpanId parent, Instant start, bool recorded);
  // The router has no span in it: `traceparent` of the client goes on as it is.
  RequestTrace(TraceContext context, std::string traceparent);

  bool recorded() const { return recording_ != nullptr; }
  // It is recorded because the client's traceparent says so.
  bool wanted_by_client() const { return recorded() && recording_->server.parent.valid(); }
  std::string trace_id() const { return HexOf(context_.trace); }
  // The headers for an engine: the present attempt is the parent of what it does, or the span of the client.
  std::string Traceparent() const;
  const std::string& state() const { return context_.state; }

  // The request waits from now on, for a reason that is not known yet.
  void OnWait(Instant now, SpanId id);
  // The reason and the position of the present wait.
  void OnPark(absl::string_view reason, int64_t position);
  void OnForward(Instant now, const AttemptStart& attempt);
  void OnAttemptEnd(Instant now, const AttemptResult& result);
  // Something happened to the request.
  void OnEvent(Instant now, absl::string_view name, SpanAttributes attributes = {});
  // Called once. Empty where it is not recorded.
  EndedTrace End(Instant now, const RequestSummary& summary);

 private:
  struct Recording {
    Span server;
    std::optional<Span> wait;
    std::optional<Span> attempt;
    std::vector<Span> ended;
  };
  void EndWait(Instant now);

  TraceContext context_;
  const std::string given_;  // The client's traceparent; empty: the router has spans of its own.
  SpanId current_;           // The span that an engine is a child of.
  std::unique_ptr<Recording> recording_;
};

// The trace headers of the present attempt.
struct TraceHeaders {
  std::string parent;
  absl::string_view state;  // As long as the trace.
};
// Empty where `trace` is null.
TraceHeaders HeadersOf(const RequestTrace* trace);

// The name of the operation in OpenTelemetry's conventions for generative AI; empty: it has none.
absl::string_view OperationOf(absl::string_view endpoint_label);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TRACING_REQUEST_TRACE_H_
