// W3C trace context: the headers traceparent and tracestate as values. Pure.
//
// https://www.w3.org/TR/trace-context/ has the rules. A traceparent that breaks one of them counts as absent, and its
// tracestate with it. A tracestate that breaks one is left out by itself.
#ifndef PENSTOCK_ROUTER_TRACING_TRACE_CONTEXT_H_
#define PENSTOCK_ROUTER_TRACING_TRACE_CONTEXT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "backends/dialect/headers.h"

namespace penstock {

inline constexpr absl::string_view kTraceparent = "traceparent";
inline constexpr absl::string_view kTracestate = "tracestate";

// Valid where it is not zero.
struct TraceId {
  uint64_t high = 0;
  uint64_t low = 0;
  bool valid() const { return high != 0 || low != 0; }
  bool operator==(const TraceId&) const = default;
};

struct SpanId {
  uint64_t value = 0;
  bool valid() const { return value != 0; }
  bool operator==(const SpanId&) const = default;
};

// 32 and 16 lower-case hexadecimal digits.
std::string HexOf(TraceId id);
std::string HexOf(SpanId id);

struct TraceContext {
  static constexpr uint8_t kSampled = 1;
  static constexpr uint8_t kRandom = 2;

  TraceId trace;
  SpanId span;        // The sender's.
  uint8_t flags = 0;  // kSampled and kRandom; the sender's other bits are dropped.
  std::string state;  // The value of tracestate; empty: none.

  bool sampled() const { return (flags & kSampled) != 0; }
  bool operator==(const TraceContext&) const = default;
};

// The context in the headers of a request. nullopt: absent, invalid, or given twice.
std::optional<TraceContext> ReadTraceContext(const HeaderList& headers);

// nullopt: invalid. `state` stays empty.
std::optional<TraceContext> ParseTraceparent(absl::string_view value);
std::string FormatTraceparent(TraceId trace, SpanId span, uint8_t flags);
// At most 32 members, each KEY=VALUE by the rules, or empty.
bool IsTracestate(absl::string_view value);

// True for the same share of trace ids in each service that asks.
bool IsSampled(TraceId id, double share);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TRACING_TRACE_CONTEXT_H_
