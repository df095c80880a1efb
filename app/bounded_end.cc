#include "app/bounded_end.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <system_error>
#include <utility>

#include "app/process.h"
#include "base/clock.h"

namespace penstock {
namespace {

constexpr std::chrono::seconds kLastAct{1};
constexpr Duration kAfterSignal = Duration::Seconds(1);
constexpr int kWasCut = 3;

[[noreturn]] void ActAndEnd(const std::function<void()>& last_act) {
  std::promise<void> acted;
  try {
    std::thread([&last_act, &acted] {
      last_act();
      acted.set_value();
    }).detach();
    acted.get_future().wait_for(kLastAct);
  } catch (const std::system_error&) {
    _exit(kWasCut);  // On this thread the act could hang, and the end with it.
  }
  _exit(kWasCut);
}

}  // namespace

BoundedEnd::BoundedEnd(const sigset_t& signals) : signals_(signals), watcher_([this] { Watch(); }) {}

BoundedEnd::~BoundedEnd() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_one();
  pthread_kill(watcher_.native_handle(), SIGHUP);
  watcher_.join();
}

void BoundedEnd::Begin(Duration most, std::function<void()> last_act) {
  {
    const std::lock_guard lock(mutex_);
    most_ = most;
    last_act_ = std::move(last_act);
    begun_ = true;
  }
  changed_.notify_one();
}

bool BoundedEnd::AwaitBegin() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return begun_ || ended_; });
  return begun_;
}

void BoundedEnd::Watch() {
  if (!AwaitBegin()) return;
  Instant end = Now() + most_;
  while (Now() < end) {
    const int signal = WaitSignal(signals_, std::max(Duration(), end - Now()));
    if (ended_) return;
    if (signal == SIGTERM || signal == SIGINT || signal == SIGQUIT) end = std::min(end, Now() + kAfterSignal);
  }
  if (ended_) return;
  ActAndEnd(last_act_);
}

}  // namespace penstock
