// Traces as a request body of OTLP over HTTP in JSON. Pure.
//
// https://opentelemetry.io/docs/specs/otlp/ has the form: ids in hexadecimal, 64-bit numbers as texts, enumerations as
// numbers.
#ifndef PENSTOCK_ROUTER_TRACING_OTLP_JSON_H_
#define PENSTOCK_ROUTER_TRACING_OTLP_JSON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "router/tracing/span.h"

namespace penstock {

// The router as the sender of spans.
struct TraceResource {
  std::string service_name;
  std::string version;
  std::string instance;  // One value per process.
};

// A trace, and the wall clock less its instants in nanoseconds.
struct TimedTrace {
  EndedTrace trace;
  int64_t wall_lead = 0;
};

std::string OtlpJson(const TraceResource& resource, const std::vector<TimedTrace>& traces);

// The spans that the collector rejected, by its answer of success; 0 where the answer does not say.
int64_t RejectedSpans(absl::string_view answer);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TRACING_OTLP_JSON_H_
