// Sends traces to an OpenTelemetry collector, from a thread of its own.
//
// Add() moves the trace into a bounded queue under a short lock, and drops it where the queue is full. The thread
// collects the traces of `interval`, or of a full batch, and posts them as one request (OTLP over HTTP, JSON). A
// collector that is down, slow or broken costs spans, which are counted, and nothing else. Between Start and Stop.
#ifndef PENSTOCK_ROUTER_TRACING_EXPORT_SPAN_EXPORTER_H_
#define PENSTOCK_ROUTER_TRACING_EXPORT_SPAN_EXPORTER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "backends/dialect/headers.h"
#include "base/units.h"
#include "router/labels/labels.h"
#include "router/tracing/otlp_json.h"
#include "router/tracing/span.h"

namespace penstock {

class SpanExporter final : public TraceSink {
 public:
  // The time for the last traces when the router ends.
  static constexpr Duration kLastWords = Duration::Seconds(1);

  struct Options {
    std::string endpoint;  // A URL; /v1/traces is added unless it ends so.
    HeaderList headers;
    TraceResource resource;
    double sample = 1;
    Duration interval = Duration::Seconds(5);
    Duration timeout = Duration::Seconds(10);  // The limit of each step.
    size_t max_queued = 4096;                  // Traces.
    size_t max_bytes = size_t{16} << 20;       // The limit of queued traces in bytes (trace_size.h).
    size_t max_batch = 256;                    // The same.
    // Called on the thread of the exporter, or of Add: the end of so many spans.
    std::function<void(SpanEnd, size_t)> count;
    // Called on the thread of the exporter when the collector stops or begins to take spans. Empty: it takes them.
    std::function<void(std::string)> on_trouble;
  };
  // InvalidArgument: the endpoint is no URL.
  static absl::StatusOr<std::unique_ptr<SpanExporter>> Create(Options options);
  ~SpanExporter() override;

  void Start();
  // Sends what is queued within kLastWords.
  void Stop();

  void Add(EndedTrace trace) override;
  double sample() const override;

 private:
  struct State;
  explicit SpanExporter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TRACING_EXPORT_SPAN_EXPORTER_H_
