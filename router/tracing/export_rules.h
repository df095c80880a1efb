// The rules for sending one batch of spans again, as OTLP has them. Pure.
//
// 429, 502, 503, 504 and a lost connection are tried again, after Retry-After or a pause that doubles. Other statuses
// are final. A batch is given up after kMostTries.
#ifndef PENSTOCK_ROUTER_TRACING_EXPORT_RULES_H_
#define PENSTOCK_ROUTER_TRACING_EXPORT_RULES_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "base/units.h"

namespace penstock {

class ExportRules {
 public:
  static constexpr int kMostTries = 5;
  static constexpr Duration kFirstPause = Duration::Seconds(1);
  static constexpr Duration kLongestPause = Duration::Seconds(30);

  struct Step {
    enum class Kind { kDone, kAgain, kGiveUp };
    Kind kind = Kind::kDone;
    Duration pause;  // kAgain.
  };

  // `status` 0: no answer came. `retry_after`: the header's value; empty: none. `draw` from 0 to 1 spreads the pauses
  // of several routers.
  Step After(int status, absl::string_view retry_after, double draw);

 private:
  int tries_ = 0;
};

// Whole seconds. A date, and anything else, counts as none.
std::optional<Duration> ParseRetryAfter(absl::string_view value);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TRACING_EXPORT_RULES_H_
