// The same traffic under several policies side by side, as its clients saw it. A value.
#ifndef PENSTOCK_ROUTER_PAGE_COMPARISON_H_
#define PENSTOCK_ROUTER_PAGE_COMPARISON_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace penstock {

// One policy. Rates cover the last ten seconds, the TTFT of interactive requests the last thirty, counts everything.
struct ComparisonRow {
  std::string policy;
  int64_t requests = 0;  // That ended.
  int64_t on_time = 0;
  int64_t refused = 0;
  int64_t failed = 0;
  double active_per_s = 0;  // Tokens.
  double late_per_s = 0;
  std::optional<double> ttft_p50;  // Seconds.
  std::optional<double> ttft_p99;
};

// Called on the thread of the page, once a snapshot.
using Comparison = std::function<std::vector<ComparisonRow>()>;

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_PAGE_COMPARISON_H_
