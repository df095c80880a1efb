#include "backends/simulated/fleet/step_clock.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace penstock::simulated {
namespace {

constexpr Duration kMostLate = Duration::Milliseconds(20);
// A limit per turn, so that a process that falls behind still reads its sockets.
constexpr int kStepsPerTurn = 16;

}  // namespace

void StepClock::AddEngine(std::shared_ptr<Engine> engine, const std::vector<int>& gpus) {
  const int replica = share_.AddReplica(gpus);
  engine->OnWork([this, replica] {
    if (finishing_) return;  // FinishDue() begins the next step itself.
    Begin(replica, Now());
    Arm();
  });
  wakes_.push_back(std::make_unique<boost::asio::steady_timer>(timer_.get_executor()));
  engine->doze().OnWake([this, replica](Instant at) {
    wakes_[replica]->expires_at(ToTimePoint(at));
    wakes_[replica]->async_wait([this, replica](const boost::system::error_code& error) {
      if (!error) engines_[replica]->EndWake();
    });
  });
  elastic_ = elastic_ || !engine->spec().elastic_gpu.empty();
  engines_.push_back(std::move(engine));
}

void StepClock::Begin(int replica, Instant now) {
  moved_.clear();
  share_.Begin(replica, engines_[replica]->BeginStep(now), now, moved_);
  Note();
}

void StepClock::Note() {
  for (const GpuShare::StepEnd& end : moved_) ends_.push(end);
}

void StepClock::FinishDue() {
  const Instant now = Now();
  finishing_ = true;
  int steps = 0;
  while (!ends_.empty() && steps < kStepsPerTurn) {
    const GpuShare::StepEnd end = ends_.top();
    if (end.at > now) break;
    ends_.pop();
    if (Stale(end)) continue;
    ++steps;
    const Instant at = std::max(end.at, now - kMostLate);
    moved_.clear();
    share_.End(end.replica, at, moved_);
    Note();
    engines_[end.replica]->FinishStep(at);
    if (engines_[end.replica]->CanBegin()) Begin(end.replica, at);
    for (size_t i = 0; elastic_ && i < engines_.size(); ++i) {
      if (engines_[i]->CanBegin()) Begin(static_cast<int>(i), at);
    }
  }
  finishing_ = false;
  Arm();
}

void StepClock::Arm() {
  while (!ends_.empty() && Stale(ends_.top())) ends_.pop();
  if (ends_.empty() || ends_.top().at == armed_) return;
  armed_ = ends_.top().at;
  timer_.expires_at(ToTimePoint(armed_));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    armed_ = Instant::Never();
    FinishDue();
  });
}

}  // namespace penstock::simulated
