#include "router/telemetry/batch_metrics.h"

#include <string>

#include "router/telemetry/registry/metric_list.h"

namespace penstock {

void BatchMetrics::StartAtZero() {
  for (const absl::string_view status : {"completed", "failed", "expired", "cancelled"}) {
    registry_.Counter(MetricNamed("penstock_batches_ended_total"), {{"status", std::string(status)}});
  }
  for (const absl::string_view outcome : kLineOutcomeLabels) {
    registry_.Counter(MetricNamed("penstock_batch_lines_total"), {{"outcome", std::string(outcome)}});
  }
  registry_.Counter(MetricNamed("penstock_batch_line_retries_total"));
  OnTokens(Tokens(0), Tokens(0));
  SetLines(0, 0);
}

void BatchMetrics::SetOpen(absl::string_view status, int64_t batches) {
  registry_.Gauge(MetricNamed("penstock_batches"), {{"status", std::string(status)}}).Set(static_cast<double>(batches));
}

void BatchMetrics::SetLines(int64_t waiting, int64_t running) {
  registry_.Gauge(MetricNamed("penstock_batch_lines"), {{"state", "waiting"}}).Set(static_cast<double>(waiting));
  registry_.Gauge(MetricNamed("penstock_batch_lines"), {{"state", "running"}}).Set(static_cast<double>(running));
}

void BatchMetrics::OnBatchEnd(absl::string_view status) {
  registry_.Counter(MetricNamed("penstock_batches_ended_total"), {{"status", std::string(status)}}).Increment();
}

void BatchMetrics::OnLines(LineOutcome outcome, int64_t lines) {
  const std::string label(kLineOutcomeLabels[static_cast<size_t>(outcome)]);
  registry_.Counter(MetricNamed("penstock_batch_lines_total"), {{"outcome", label}})
      .Increment(static_cast<double>(lines));
}

void BatchMetrics::OnRetry() { registry_.Counter(MetricNamed("penstock_batch_line_retries_total")).Increment(); }

void BatchMetrics::OnTokens(Tokens prompt, Tokens output) {
  registry_.Counter(MetricNamed("penstock_batch_tokens_total"), {{"kind", "prompt"}}).Increment(prompt.AsDouble());
  registry_.Counter(MetricNamed("penstock_batch_tokens_total"), {{"kind", "output"}}).Increment(output.AsDouble());
}

}  // namespace penstock
