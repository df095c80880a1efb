#include "router/tracing/begin_trace.h"

#include <optional>
#include <utility>

#include "router/tracing/trace_ids.h"

namespace penstock {

std::unique_ptr<RequestTrace> BeginTrace(const HeaderList& headers, const TraceSink* sink, Instant now) {
  const bool named = NamesTrace(headers);
  if (!named && sink == nullptr) return nullptr;
  std::optional<TraceContext> given = named ? ReadTraceContext(headers) : std::nullopt;
  const SpanId parent = given ? given->span : SpanId();
  TraceContext own = given ? *std::move(given) : TraceContext();
  if (!own.trace.valid()) {
    own.trace = NewTraceId();
    own.flags = TraceContext::kRandom;
    if (sink != nullptr && IsSampled(own.trace, sink->sample())) own.flags |= TraceContext::kSampled;
  }
  own.span = NewSpanId();
  const bool recorded = sink != nullptr && own.sampled();
  return std::make_unique<RequestTrace>(std::move(own), parent, now, recorded);
}

}  // namespace penstock
