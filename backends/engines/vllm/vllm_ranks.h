// The data-parallel ranks on the metrics page of vLLM: each figure has the label `engine` with the number of its rank.
#ifndef PENSTOCK_BACKENDS_ENGINES_VLLM_VLLM_RANKS_H_
#define PENSTOCK_BACKENDS_ENGINES_VLLM_VLLM_RANKS_H_

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "backends/dialect/metrics_text.h"

namespace penstock {

// More ranks than any engine has. One that names more, or a rank without a number, counts as an engine without ranks.
inline constexpr int kMostRanks = 1024;

// A value per rank, in rising order of rank. Empty unless every sample names its rank, and there are two at least.
template <class Value>
class ByRank {
 public:
  // The value of the sample's rank; null where the ranks make no sense.
  Value* Of(const MetricSample& sample) {
    const auto label = sample.Label("engine");
    int rank = -1;
    sane_ = sane_ && label && absl::SimpleAtoi(*label, &rank) && rank >= 0 && rank < kMostRanks;
    if (!sane_) return nullptr;
    const auto place = std::lower_bound(values_.begin(), values_.end(), rank,
                                        [](const Value& value, int number) { return value.rank < number; });
    if (place != values_.end() && place->rank == rank) return &*place;
    Value value;
    value.rank = rank;
    return &*values_.insert(place, value);
  }
  std::vector<Value> Take() { return sane_ && values_.size() > 1 ? std::move(values_) : std::vector<Value>(); }

 private:
  std::vector<Value> values_;
  bool sane_ = true;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_VLLM_VLLM_RANKS_H_
