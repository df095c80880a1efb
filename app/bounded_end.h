// The orderly end of a process in bounded time: a call to a hung disk never returns, and nothing ends its thread.
//
//   const BoundedEnd bound(signals, kStopTime, [&server] { server.log().Note(...); server.log().Flush(); });
//   server.Stop();
//
// Where the time is over before the destructor, the process ends with exit code 3. SIGTERM or SIGINT leaves a second of
// it: an orderly end needs milliseconds. The last act runs before that, on a thread of its own, for a second at most.
#ifndef PENSTOCK_APP_BOUNDED_END_H_
#define PENSTOCK_APP_BOUNDED_END_H_

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

#include "base/units.h"

namespace penstock {

class BoundedEnd {
 public:
  // The signals are blocked in every thread; SIGHUP is one of them.
  BoundedEnd(const sigset_t& signals, Duration most, std::function<void()> last_act);
  ~BoundedEnd();
  BoundedEnd(const BoundedEnd&) = delete;
  BoundedEnd& operator=(const BoundedEnd&) = delete;

 private:
  void Watch(Duration most);

  const sigset_t signals_;
  const std::function<void()> last_act_;
  std::atomic<bool> ended_{false};
  std::thread watcher_;
};

}  // namespace penstock

#endif  // PENSTOCK_APP_BOUNDED_END_H_
