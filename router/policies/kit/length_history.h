// The output lengths of a model's last finished requests, for policies that predict from them.
//
// Until real lengths have come, 20 of 1,024 tokens stand in; each real one displaces one of these. Observe costs
// O(window) moves of a sorted array, the rest O(log window). Not thread-safe; one owner.
#ifndef PENSTOCK_ROUTER_POLICIES_KIT_LENGTH_HISTORY_H_
#define PENSTOCK_ROUTER_POLICIES_KIT_LENGTH_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/generator.h"

namespace penstock {

// What a request without a limit counts where a policy needs one.
inline constexpr int64_t kAssumedOutput = 1024;

class LengthHistory {
 public:
  explicit LengthHistory(size_t window);  // At least 1.

  void Observe(int64_t length);
  double Mean() const;
  double Median() const;
  // One of the remembered lengths.
  double Draw(bench::Generator& random) const;
  // A length given that it is above `given`: between neighbours of the sorted lengths above it, of which `cap` is the
  // last. At least `given`.
  double DrawAbove(double given, double cap, bench::Generator& random) const;

 private:
  size_t window_;
  size_t stand_ins_;  // Still in the history; they are its oldest.
  std::deque<int64_t> by_age_;
  std::vector<int64_t> sorted_;
  int64_t sum_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_KIT_LENGTH_HISTORY_H_
