#include "router/live/progress_sampler.h"

#include "base/clock.h"

namespace penstock {

ProgressSampler::ProgressSampler(EventLoop& control) : control_(control), timer_(control.io()) {}

void ProgressSampler::Start() {
  timer_.expires_after(ToChrono(kInterval));
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (ec || stopped_) return;
    Sample();
    Start();
  });
}

void ProgressSampler::Sample() {
  for (const Progress& progress : control_.edge().board->Sample(control_.fleet()->progress_group)) {
    control_.edge().core->Submit(progress);
  }
}

void ProgressSampler::Stop() {
  stopped_ = true;
  timer_.cancel();
}

}  // namespace penstock
