// The output lengths of a model's last finished requests, for policies that predict from them.
//
// The history starts with 20 stand-ins of 1,024 tokens; each observed length displaces one of them. Observe costs
// O(window) moves of a sorted array, the other operations O(log window). Owner: one rule; one caller at a time.
#ifndef PENSTOCK_ROUTER_POLICIES_KIT_LENGTH_HISTORY_H_
#define PENSTOCK_ROUTER_POLICIES_KIT_LENGTH_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/generator.h"

namespace penstock {

// The output tokens that a request without a limit counts where a policy needs a limit.
inline constexpr int64_t kAssumedOutput = 1024;

class LengthHistory {
 public:
  explicit LengthHistory(size_t window);  // At least 1.

  void Observe(int64_t length);
  double Mean() const;
  double Median() const;
  // One of the remembered lengths.
  double Draw(bench::Generator& random) const;
  // A length above `given`: uniform between two neighbours of the sorted lengths above it; `cap` is the last neighbour.
  // At least `given`.
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
