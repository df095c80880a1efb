// Random ids of traces and spans. Any thread; each has a generator of its own.
#ifndef PENSTOCK_ROUTER_TRACING_TRACE_IDS_H_
#define PENSTOCK_ROUTER_TRACING_TRACE_IDS_H_

#include "router/tracing/trace_context.h"

namespace penstock {

TraceId NewTraceId();
SpanId NewSpanId();

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TRACING_TRACE_IDS_H_
