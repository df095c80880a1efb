// Begins the trace of one request by the headers of its client.
#ifndef PENSTOCK_ROUTER_TRACING_BEGIN_TRACE_H_
#define PENSTOCK_ROUTER_TRACING_BEGIN_TRACE_H_

#include <memory>

#include "backends/dialect/headers.h"
#include "base/units.h"
#include "router/tracing/request_trace.h"

namespace penstock {

// A valid traceparent is continued, an invalid one replaced by a new trace. Where the client made no choice, `sink`
// draws the traces that it wants. Without a sink, a valid traceparent goes on as it is; null: there is none.
std::unique_ptr<RequestTrace> BeginTrace(const HeaderList& headers, const TraceSink* sink, Instant now);

// True: the spans of a recorded trace go to `sink`. False: a caller without a configured name wanted them, and its
// request ended with 401 or 404. Anybody can send such requests, as often as it likes.
bool IsWanted(const RequestTrace& trace, const TraceSink& sink, int status, bool named_caller);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TRACING_BEGIN_TRACE_H_
