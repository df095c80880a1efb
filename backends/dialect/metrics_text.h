// Reads the Prometheus text format (0.0.4) and OpenMetrics 1.0 line by line, without allocating.
//
// Tolerant: comments, unknown lines, time stamps and exemplars are passed over, NaN and infinities are values, labels
// may come in any order. A scrape of an engine is a few hundred lines of which a poller wants five.
#ifndef PENSTOCK_BACKENDS_DIALECT_METRICS_TEXT_H_
#define PENSTOCK_BACKENDS_DIALECT_METRICS_TEXT_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

// Views into the text that is read.
struct MetricSample {
  absl::string_view name;
  absl::string_view labels;  // Between the braces, escapes as they stand.
  double value = 0;
  // The value of a label with its escapes undone; absent when there is no such label.
  std::optional<std::string> Label(absl::string_view key) const;
};

class MetricsReader {
 public:
  explicit MetricsReader(absl::string_view text) : rest_(text) {}
  // The next sample; lines that are none are passed over and counted.
  std::optional<MetricSample> Next();
  int malformed() const { return malformed_; }

 private:
  absl::string_view rest_;
  int malformed_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_METRICS_TEXT_H_
