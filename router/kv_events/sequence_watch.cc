#include "router/kv_events/sequence_watch.h"

#include <utility>

namespace penstock {

void SequenceWatch::Connected() {
  replaying_ = false;
  // Nothing is known yet, so nothing can be wrong.
  proven_ = !next_ && !can_replay_;
  if (!can_replay_) return;
  probing_ = next_.has_value();
  StartReplay(next_ && *next_ > 0 ? *next_ - 1 : 0);
}

void SequenceWatch::Disconnected() {
  proven_ = false;
  replaying_ = false;
  request_.reset();
}

void SequenceWatch::StartReplay(uint64_t from) {
  replaying_ = true;
  tried_ = true;
  request_ = from;
}

std::optional<uint64_t> SequenceWatch::TakeRequest() { return std::exchange(request_, std::nullopt); }

SequenceWatch::Step SequenceWatch::Live(uint64_t number) { return replaying_ ? Step::kHold : Follow(number); }

SequenceWatch::Step SequenceWatch::Follow(uint64_t number) {
  if (next_ && number < *next_) {
    next_.reset();
    probing_ = false;
    if (can_replay_ && number > 0) StartReplay(0);
    return Step::kRestarted;
  }
  if (next_ && number > *next_) {
    missed_ += static_cast<int64_t>(number - *next_);
    if (can_replay_ && !tried_) {
      StartReplay(*next_);
      return Step::kHold;
    }
    next_ = number + 1;
    tried_ = false;
    proven_ = true;
    return Step::kLost;
  }
  next_ = number + 1;
  proven_ = true;
  if (!replaying_) tried_ = false;
  return Step::kTake;
}

SequenceWatch::Step SequenceWatch::Replayed(uint64_t number) {
  if (!replaying_) return Step::kSkip;
  if (next_ && number < *next_) {
    if (number + 1 == *next_) proven_ = true;
    return Step::kSkip;
  }
  return Follow(number);
}

SequenceWatch::Step SequenceWatch::EndReplay(bool failed) {
  replaying_ = false;
  request_.reset();
  if (!next_ && !failed) {
    // The publisher has sent nothing so far.
    next_ = 0;
    proven_ = true;
    tried_ = false;
  }
  if (!std::exchange(probing_, false) || proven_ || failed) return Step::kTake;
  // The publisher does not have what was seen last: it is another one.
  next_.reset();
  StartReplay(0);
  return Step::kRestarted;
}

}  // namespace penstock
