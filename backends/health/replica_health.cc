#include "backends/health/replica_health.h"

#include <algorithm>

namespace penstock {

HealthTracker::HealthTracker(Instant now, Options options)
    : options_(options), probe_interval_(options.probe_min), next_probe_(now) {}

void HealthTracker::OnProbe(Instant now, bool good) {
  if (state_ != Health::kDown) {
    poll_failures_ = good ? 0 : poll_failures_ + 1;
    // A good poll shows that connecting works. Answers may still break.
    if (good) connect_failures_ = 0;
    if (poll_failures_ >= options_.poll_failures) GoDown(now);
    return;
  }
  if (!good) {
    good_probes_ = 0;
    next_probe_ = now + probe_interval_;
    probe_interval_ = std::min(probe_interval_ * 2, options_.probe_max);
    return;
  }
  probe_interval_ = options_.probe_min;
  next_probe_ = now + probe_interval_;
  if (++good_probes_ < (ever_up_ ? options_.good_probes : 1)) return;
  state_ = ever_up_ ? Health::kProbing : Health::kUp;
  ever_up_ = true;
  ForgetFailures();
}

void HealthTracker::OnConnectFailed(Instant now) {
  ++connect_failures_;
  if (state_ == Health::kProbing || connect_failures_ >= options_.connect_failures) GoDown(now);
}

void HealthTracker::OnBrokenAnswer(Instant now) {
  ++broken_answers_;
  if (state_ == Health::kProbing || broken_answers_ >= options_.broken_answers) GoDown(now);
}

void HealthTracker::OnHang(Instant now) {
  if (state_ == Health::kProbing) GoDown(now);
  if (state_ == Health::kUp) state_ = Health::kProbing;
}

void HealthTracker::OnAnswer() {
  ForgetFailures();
  // An answer to an older request may arrive while down. Only probes show that the engine is back.
  if (state_ == Health::kProbing) state_ = Health::kUp;
}

void HealthTracker::OnStarted(Instant now) {
  GoDown(now);
  ever_up_ = false;
  good_probes_ = 0;
  probe_interval_ = options_.probe_min;
  next_probe_ = now;
}

Health HealthTracker::health() const {
  if (state_ == Health::kDown || sleeping_) return Health::kDown;
  return draining_ ? Health::kDraining : state_;
}

void HealthTracker::GoDown(Instant now) {
  if (state_ == Health::kDown) return;
  state_ = Health::kDown;
  good_probes_ = 0;
  ForgetFailures();
  probe_interval_ = options_.probe_min;
  next_probe_ = now + probe_interval_;
}

void HealthTracker::ForgetFailures() {
  connect_failures_ = 0;
  poll_failures_ = 0;
  broken_answers_ = 0;
}

}  // namespace penstock
