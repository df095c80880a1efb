#include "kvmodel/active_tokens.h"

#include <algorithm>
#include <limits>

namespace penstock {

ActiveTokenCounter::ActiveTokenCounter(Instant arrival, Duration ttft, Duration tpot)
    : first_due_(arrival + std::max(ttft, Duration())), tpot_(std::max(tpot, Duration())) {}

int64_t ActiveTokenCounter::DueBefore(Instant when) const {
  const Duration over = when - first_due_;
  if (over <= Duration()) return 0;
  if (tpot_ == Duration()) return std::numeric_limits<int64_t>::max();
  // Token i is on time when i x tpot >= over, so the first that is on time is the quotient rounded up.
  return (over.nanoseconds() - 1) / tpot_.nanoseconds() + 1;
}

int64_t ActiveTokenCounter::OnTokens(int64_t count, Instant when) {
  if (count <= 0) return 0;
  const int64_t late = std::clamp<int64_t>(DueBefore(when) - tokens(), 0, count);
  late_ += late;
  timely_ += count - late;
  return late;
}

void ActiveTokenCounter::OnEnd(bool ended_well) {
  ended_ = true;
  ended_well_ = ended_well;
}

}  // namespace penstock
