// The orderly end of a process in bounded time: a call to a hung disk never returns, and nothing ends its thread.
//
//   BoundedEnd end(signals);  // Early: a process that runs out of threads or memory still ends.
//   ...
//   end.Begin(kStopTime, [&server] { server.log().Note(...); server.log().Flush(); });
//   server.Stop();
//
// Where the time is over before the destructor, the process ends with exit code 3. SIGTERM, SIGINT or SIGQUIT leaves a
// second of it: an orderly end needs milliseconds. The last act runs before that, on a thread of its own, for a second
// at most.
#ifndef PENSTOCK_APP_BOUNDED_END_H_
#define PENSTOCK_APP_BOUNDED_END_H_

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <mutex>
#include <thread>

#include "base/units.h"

namespace penstock {

class BoundedEnd {
 public:
  // The signals are blocked in every thread; SIGHUP is one of them. Throws std::system_error where no thread can start.
  explicit BoundedEnd(const sigset_t& signals);
  ~BoundedEnd();
  BoundedEnd(const BoundedEnd&) = delete;
  BoundedEnd& operator=(const BoundedEnd&) = delete;

  // From now on the process has `most`, and the watcher takes the signals. Called once.
  void Begin(Duration most, std::function<void()> last_act);

 private:
  void Watch();
  // False: the destructor came first.
  bool AwaitBegin();

  const sigset_t signals_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool begun_ = false;  // Guarded, as the two below until it is true.
  Duration most_;
  std::function<void()> last_act_;
  std::atomic<bool> ended_{false};
  std::thread watcher_;
};

}  // namespace penstock

#endif  // PENSTOCK_APP_BOUNDED_END_H_
