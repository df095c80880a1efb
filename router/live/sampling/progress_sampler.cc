#include "router/live/sampling/progress_sampler.h"

#include <utility>

#include "base/clock.h"

namespace penstock {

ProgressSampler::ProgressSampler(EventLoop& control, std::function<void(ReplicaId, Instant)> on_token)
    : control_(control), on_token_(std::move(on_token)), timer_(control.io()) {}

void ProgressSampler::Start() {
  timer_.expires_after(ToChrono(kInterval));
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (ec || stopped_) return;
    Sample();
    Start();
  });
}

void ProgressSampler::Sample() {
  const Edge& edge = control_.edge();
  for (const Progress& progress : edge.board->Sample(control_.fleet()->progress_group, Now())) {
    edge.core->Submit(progress);
    for (const ReplicaProgress& replica : progress.replicas) {
      if (replica.steps > 0) on_token_(replica.replica, replica.newest_step_end);
    }
  }
  if (edge.gpus != nullptr) edge.gpus->Sample(edge.board->late(), edge.core->FindMemoryWaits(), Now());
}

void ProgressSampler::Stop() {
  stopped_ = true;
  timer_.cancel();
}

}  // namespace penstock
