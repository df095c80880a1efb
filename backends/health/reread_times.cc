#include "backends/health/reread_times.h"

#include <algorithm>
#include <utility>

namespace penstock {

void RereadTimes::OnDiscovery(Instant now, Duration poll_interval) {
  OnReread(now, poll_interval);
  tokens_ = preemptions_ = -1;
  earliest_ = now;
}

void RereadTimes::OnReread(Instant now, Duration poll_interval) {
  const Duration pause = std::min(kPause, poll_interval * kPausePolls);
  earliest_ = now + kLeast;
  next_ = now + Duration::Seconds(pause.seconds() * (0.75 + draw_.Uniform() / 2));
  wanted_ = recognise_ = denied_ = failing_ = doubted_ = false;
}

void RereadTimes::OnDoubt(Instant now) {
  if (!std::exchange(doubted_, true)) earliest_ = std::max(earliest_, now + kLeast);
  wanted_ = true;
}

void RereadTimes::OnGoodPoll(int64_t tokens, int64_t preemptions) {
  failing_ = false;
  const auto fell = [](int64_t count, int64_t before) { return count >= 0 && count < before; };
  if (fell(tokens, tokens_) || fell(preemptions, preemptions_)) OnTrouble();
  tokens_ = tokens;
  preemptions_ = preemptions;
}

void RereadTimes::OnFailedPoll() {
  failing_ = true;
  OnTrouble();
}

}  // namespace penstock
