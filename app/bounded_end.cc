#include "app/bounded_end.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

#include "app/process.h"
#include "base/clock.h"

namespace penstock {
namespace {

constexpr std::chrono::seconds kLastAct{1};
constexpr Duration kAfterSignal = Duration::Seconds(1);
constexpr int kWasCut = 3;

}  // namespace

BoundedEnd::BoundedEnd(const sigset_t& signals, Duration most, std::function<void()> last_act)
    : signals_(signals), last_act_(std::move(last_act)), watcher_([this, most] { Watch(most); }) {}

BoundedEnd::~BoundedEnd() {
  ended_ = true;
  pthread_kill(watcher_.native_handle(), SIGHUP);
  watcher_.join();
}

void BoundedEnd::Watch(Duration most) {
  Instant end = Now() + most;
  while (Now() < end) {
    const int signal = WaitSignal(signals_, std::max(Duration(), end - Now()));
    if (ended_) return;
    if (signal == SIGTERM || signal == SIGINT) end = std::min(end, Now() + kAfterSignal);
  }
  if (ended_) return;
  std::promise<void> acted;
  std::thread([this, &acted] {
    last_act_();
    acted.set_value();
  }).detach();
  acted.get_future().wait_for(kLastAct);
  _exit(kWasCut);
}

}  // namespace penstock
