#include "router/tracing/begin_trace.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "router/openai/error/http_status.h"
#include "router/tracing/trace_ids.h"

namespace penstock {
namespace {

std::string TraceparentIn(const HeaderList& headers) {
  for (const auto [name, value] : headers) {
    if (absl::EqualsIgnoreCase(name, kTraceparent)) return std::string(absl::StripAsciiWhitespace(value));
  }
  return "";
}

}  // namespace

std::unique_ptr<RequestTrace> BeginTrace(const HeaderList& headers, const TraceSink* sink, Instant now) {
  std::optional<TraceContext> given = ReadTraceContext(headers);
  if (sink == nullptr) {
    if (!given) return nullptr;
    return std::make_unique<RequestTrace>(*std::move(given), TraceparentIn(headers));
  }
  const SpanId parent = given ? given->span : SpanId();
  TraceContext own = given ? *std::move(given) : TraceContext();
  if (!own.trace.valid()) {
    own.trace = NewTraceId();
    own.flags = TraceContext::kRandom;
    if (IsSampled(own.trace, sink->sample())) own.flags |= TraceContext::kSampled;
  }
  own.span = NewSpanId();
  const bool recorded = own.sampled();
  return std::make_unique<RequestTrace>(std::move(own), parent, now, recorded);
}

bool IsWanted(const RequestTrace& trace, const TraceSink& sink, int status, bool named_caller) {
  const bool by_anybody = status == http_status::kUnauthorized || status == http_status::kNotFound;
  return named_caller || !by_anybody || !trace.wanted_by_client() || sink.sample() >= 1;
}

}  // namespace penstock
