#include "app/shadow/shadow_thread.h"

#include <sys/resource.h>

#include <utility>

#include "base/clock.h"

namespace penstock {
namespace {

constexpr Duration kLook = Duration::Milliseconds(20);
constexpr Duration kPublishPeriod = Duration::Milliseconds(500);
// Time of the copies between two looks at the queue.
constexpr Duration kCopyTime = Duration::Milliseconds(10);
// Events between two looks at the clock and the stop.
constexpr int kBatch = 1024;
// The request path comes first where cores are few.
constexpr int kNice = 10;

}  // namespace

ShadowThread::ShadowThread(std::unique_ptr<PolicyShadow> shadow, size_t queue)
    : shadow_(std::move(shadow)), queue_(queue), report_(shadow_->Report(Instant())) {}

ShadowThread::~ShadowThread() { Stop(); }

void ShadowThread::Start() {
  thread_ = std::thread([this] { Run(); });
}

void ShadowThread::Stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopping_.notify_all();
  thread_.join();
}

ShadowReport ShadowThread::Report() const {
  std::lock_guard lock(mutex_);
  return report_;
}

bool ShadowThread::TakeAll() {
  int taken = 0;
  for (; taken < kBatch; ++taken) {
    const SeenEvent* seen = queue_.Front();
    if (seen == nullptr) break;
    shadow_->Take(seen->event, seen->now, seen->actions);
    queue_.Pop();
  }
  if (taken == kBatch || !queue_.dropping()) return taken > 0;
  shadow_->Lost(Now());
  for (const SeenEvent& kept : queue_.Recover()) shadow_->Take(kept.event, kept.now, kept.actions);
  return true;
}

void ShadowThread::Publish() {
  ShadowReport report = shadow_->Report(Now());
  report.dropped = queue_.dropped();
  for (auto difference = report.recent.rbegin(); difference != report.recent.rend(); ++difference) {
    if (difference->number <= last_told_) continue;
    last_told_ = difference->number;
    if (told_) told_(*difference);
  }
  std::lock_guard lock(mutex_);
  report_ = std::move(report);
}

void ShadowThread::Run() {
  try {
    Loop();
  } catch (...) {
    Fail();
  }
}

void ShadowThread::Fail() {
  failed_ = true;
  std::lock_guard lock(mutex_);
  report_.failed = true;
  report_.counterfactual.unavailable = "the shadow failed";
}

void ShadowThread::Loop() {
  // Linux applies it to the calling thread alone. A failure costs nothing but the priority.
  setpriority(PRIO_PROCESS, 0, kNice);
  Instant published;
  for (;;) {
    const bool busy = TakeAll();
    const Instant until = Now() + kCopyTime;
    const bool left = shadow_->Work(Now(), [until] { return Now() < until; });
    if (Now() - published >= kPublishPeriod) {
      Publish();
      published = Now();
    }
    std::unique_lock lock(mutex_);
    // Copies that are behind go on at once, as long as the queue stays nearly empty.
    const Duration pause = busy || left ? Duration::Milliseconds(1) : kLook;
    if (stopping_.wait_for(lock, ToChrono(pause), [this] { return stop_; })) return;
  }
}

}  // namespace penstock
