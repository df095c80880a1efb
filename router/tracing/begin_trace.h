// Begins the trace of one request by the headers of its client.
#ifndef PENSTOCK_ROUTER_TRACING_BEGIN_TRACE_H_
#define PENSTOCK_ROUTER_TRACING_BEGIN_TRACE_H_

#include <memory>

#include "backends/dialect/headers.h"
#include "base/units.h"
#include "router/tracing/request_trace.h"

namespace penstock {

// A valid traceparent is continued, an invalid one replaced by a new trace. Null: the client names no trace and `sink`
// is null. Where the client made no choice, `sink` draws the traces that it wants; without one, none is recorded.
std::unique_ptr<RequestTrace> BeginTrace(const HeaderList& headers, const TraceSink* sink, Instant now);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TRACING_BEGIN_TRACE_H_
