// Metrics of batches: those that are open, ends of batches and lines, tokens. Thread-safe.
#ifndef PENSTOCK_ROUTER_TELEMETRY_BATCH_METRICS_H_
#define PENSTOCK_ROUTER_TELEMETRY_BATCH_METRICS_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "base/units.h"
#include "router/telemetry/registry/metric_registry.h"

namespace penstock {

// The end of a line.
enum class LineOutcome : uint8_t { kCompleted, kFailed, kExpired };
inline constexpr std::array<absl::string_view, 3> kLineOutcomeLabels = {"completed", "failed", "expired"};

class BatchMetrics {
 public:
  // It outlives this.
  explicit BatchMetrics(MetricRegistry& registry) : registry_(registry) {}

  // Series that nobody has seen at zero miss their first increase. Called where the router has jobs.
  void StartAtZero();
  // `status` is OpenAI's word.
  void SetOpen(absl::string_view status, int64_t batches);
  void SetLines(int64_t waiting, int64_t running);
  void OnBatchEnd(absl::string_view status);
  void OnLines(LineOutcome outcome, int64_t lines = 1);
  // A line was refused or failed, and is tried again.
  void OnRetry();
  void OnTokens(Tokens prompt, Tokens output);

 private:
  MetricRegistry& registry_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_BATCH_METRICS_H_
