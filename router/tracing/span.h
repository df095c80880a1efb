// Spans of one request as values.
#ifndef PENSTOCK_ROUTER_TRACING_SPAN_H_
#define PENSTOCK_ROUTER_TRACING_SPAN_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/units.h"
#include "router/tracing/trace_context.h"

namespace penstock {

struct SpanAttribute {
  std::string key;
  std::variant<std::string, int64_t, double, bool, std::vector<std::string>> value;
};
using SpanAttributes = std::vector<SpanAttribute>;

struct SpanEvent {
  Instant at;
  std::string name;
  SpanAttributes attributes;
};

struct Span {
  // The values of OTLP.
  enum class Kind : uint8_t { kInternal = 1, kServer = 2, kClient = 3 };

  std::string name;
  Kind kind = Kind::kInternal;
  SpanId id;
  SpanId parent;  // Zero: none.
  Instant start;
  Instant end;
  SpanAttributes attributes;
  std::vector<SpanEvent> events;
  bool failed = false;
  std::string message;  // The failure's.
};

// The spans of one request that has ended. The first one is the server's.
struct EndedTrace {
  TraceId trace;
  uint8_t flags = 0;
  std::string state;
  std::vector<Span> spans;
};

// Takes the traces of requests. Thread-safe.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // Never waits; a trace may be dropped.
  virtual void Add(EndedTrace trace) = 0;
  // The share of requests that it wants, where their clients made no choice.
  virtual double sample() const = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TRACING_SPAN_H_
