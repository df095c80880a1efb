// A shadow beside a running router, on a thread of its own with a low priority.
//
// See is called inside the core's lock and costs a copy of the event. The thread looks at the queue 50 times a second
// and gives the copies a few milliseconds at a time in between. It publishes a report twice a second. Where it falls
// behind, events are dropped and counted, and its books begin again. An exception ends the shadow, and not the router.
#ifndef PENSTOCK_APP_SHADOW_SHADOW_THREAD_H_
#define PENSTOCK_APP_SHADOW_SHADOW_THREAD_H_

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "app/shadow/policy_shadow.h"
#include "app/shadow/seen_queue.h"

namespace penstock {

class ShadowThread {
 public:
  static constexpr size_t kQueue = 8192;

  explicit ShadowThread(std::unique_ptr<PolicyShadow> shadow, size_t queue = kQueue);
  ~ShadowThread();
  ShadowThread(const ShadowThread&) = delete;
  ShadowThread& operator=(const ShadowThread&) = delete;

  // Called on the thread for each difference that a report has first, in order. Before Start; may be empty.
  using Told = std::function<void(const ShadowDifference&)>;
  void OnDifference(Told told) { told_ = std::move(told); }

  void Start();
  void Stop();

  // One caller at a time.
  void See(const Event& event, Instant now, const std::vector<Action>& actions) {
    if (!failed_.load(std::memory_order_relaxed)) queue_.Push(event, now, actions);
  }
  // Any thread.
  ShadowReport Report() const;

 private:
  void Run();
  void Loop();
  void Fail();
  // True: there was something to do.
  bool TakeAll();
  void Publish();

  const std::unique_ptr<PolicyShadow> shadow_;
  SeenQueue queue_;
  Told told_;
  uint64_t last_told_ = 0;
  std::atomic<bool> failed_{false};
  std::thread thread_;
  mutable std::mutex mutex_;  // Guards everything below.
  std::condition_variable stopping_;
  bool stop_ = false;
  ShadowReport report_;
};

}  // namespace penstock

#endif  // PENSTOCK_APP_SHADOW_SHADOW_THREAD_H_
