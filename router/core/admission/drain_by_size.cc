#include "router/core/admission/drain_by_size.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

// Seconds: that of Retry-After (queue/lane.cc).
constexpr double kFadeSeconds = 10;
// The first dispatches are taken over no less.
constexpr double kLeastSeconds = 0.1;
// Less says nothing about the rate of all.
constexpr double kSeenSeconds = 1;

}  // namespace

int DrainBySize::SizeOf(Tokens prompt) {
  return std::clamp(static_cast<int>(2 * std::log2(std::max(1.0, prompt.AsDouble()))), 0, kSizes - 1);
}

void DrainBySize::Tick(Instant now) {
  clock_ = ClockAt(now);
  since_ = now;
}

void DrainBySize::Waits(RequestState* request, Instant now) {
  if (request->evidence.counted) return;
  Tick(now);
  request->evidence.counted = true;
  ++sizes_[SizeOf(request->arrived.prompt)].waiting;
  ++waiting_;
}

void DrainBySize::WaitsNoMore(RequestState* request, Instant now) {
  if (!request->evidence.counted) return;
  Tick(now);
  request->evidence.counted = false;
  --sizes_[SizeOf(request->arrived.prompt)].waiting;
  --waiting_;
}

void DrainBySize::Dispatched(const RequestState& request, Instant now) {
  // A request that found nobody waiting tells what was asked, not what could be had. The last one that waited was taken
  // from the count before.
  if (waiting_ == 0 && now != since_) return;
  Tick(now);
  Size& size = sizes_[SizeOf(request.arrived.prompt)];
  size.dispatched = size.dispatched * std::exp(-(clock_ - size.at) / kFadeSeconds) + 1;
  size.at = clock_;
}

DrainBySize::Drain DrainBySize::From(Tokens prompt, Instant now) const {
  Drain drain;
  double dispatched = 0;
  const double clock = ClockAt(now);
  // Estimates of equal prompts may fall on both sides of a border.
  for (int i = std::max(0, SizeOf(prompt) - 1); i < kSizes; ++i) {
    drain.waiting += sizes_[i].waiting;
    if (sizes_[i].dispatched == 0) continue;
    dispatched += sizes_[i].dispatched * std::exp(-(clock - sizes_[i].at) / kFadeSeconds);
  }
  drain.rate = dispatched / std::clamp(clock, kLeastSeconds, kFadeSeconds);
  return drain;
}

double DrainBySize::Rate(Instant now) const { return ClockAt(now) < kSeenSeconds ? 0 : From(Tokens(0), now).rate; }

int64_t DrainBySize::Recount() const {
  int64_t sum = 0;
  for (const Size& size : sizes_) sum += size.waiting;
  return sum == waiting_ ? sum : -1;
}

}  // namespace penstock
