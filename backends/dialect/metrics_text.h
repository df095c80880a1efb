// Reads the Prometheus text format (0.0.4) and OpenMetrics 1.0, line by line and without allocation.
//
// Skips comments, unknown lines, time stamps and exemplars. NaN and infinities are values. Labels may come in any
// order. One owner, not thread-safe.
#ifndef PENSTOCK_BACKENDS_DIALECT_METRICS_TEXT_H_
#define PENSTOCK_BACKENDS_DIALECT_METRICS_TEXT_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

// Views into the text that is read.
struct MetricSample {
  absl::string_view name;
  absl::string_view labels;  // The text between the braces, with its escapes.
  double value = 0;
  // The value of a label with its escapes resolved. Null when the label is absent.
  std::optional<std::string> Label(absl::string_view key) const;
};

class MetricsReader {
 public:
  explicit MetricsReader(absl::string_view text) : rest_(text) {}
  // The next sample. Skips and counts malformed lines.
  std::optional<MetricSample> Next();
  int malformed() const { return malformed_; }

 private:
  absl::string_view rest_;
  int malformed_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_METRICS_TEXT_H_
