// The memory that the spans of one request take in a queue, and about as much as JSON. Pure.
#ifndef PENSTOCK_ROUTER_TRACING_TRACE_SIZE_H_
#define PENSTOCK_ROUTER_TRACING_TRACE_SIZE_H_

#include <cstddef>
#include <string>
#include <variant>

#include "router/tracing/span.h"

namespace penstock {

inline size_t BytesOf(const SpanAttributes& attributes) {
  size_t bytes = 0;
  for (const SpanAttribute& attribute : attributes) {
    bytes += sizeof(SpanAttribute) + attribute.key.size();
    if (const auto* text = std::get_if<std::string>(&attribute.value)) bytes += text->size();
  }
  return bytes;
}

// Every span is sent with the state of its trace.
inline size_t BytesOf(const EndedTrace& trace) {
  size_t bytes = sizeof(EndedTrace);
  for (const Span& span : trace.spans) {
    bytes += sizeof(Span) + trace.state.size() + span.name.size() + span.message.size() + BytesOf(span.attributes);
    for (const SpanEvent& event : span.events) {
      bytes += sizeof(SpanEvent) + event.name.size() + BytesOf(event.attributes);
    }
  }
  return bytes;
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TRACING_TRACE_SIZE_H_
