// Reads the events of all engines that publish theirs, and tells the core what they mean.
//
// One thread has all sockets and followers; no request waits for it. In one turn it reads kPerTurn messages of each
// engine at most, for 20 ms. After a busy turn it rests for as long as the turn took. A flood so takes half a core, and
// no turn of another engine. Reports go to the core between requests, CoreNews::kBlocksPerReport blocks at a time.
// Start and Stop once; SetSources from any thread.
#ifndef PENSTOCK_ROUTER_LIVE_KV_EVENTS_KV_EVENT_THREAD_H_
#define PENSTOCK_ROUTER_LIVE_KV_EVENTS_KV_EVENT_THREAD_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/ids.h"
#include "router/kv_events/run_book.h"
#include "router/live/event_loop.h"
#include "router/live/kv_events/run_tap.h"
#include "router/telemetry/log/line_sampler.h"

namespace penstock {

// An engine, or one rank of it, and the addresses of its events.
struct KvEventSource {
  ReplicaId replica;
  std::string name;
  std::string events;
  std::string replay;  // Empty: it serves none.
  bool operator==(const KvEventSource&) const = default;
};

class KvEventThread {
 public:
  static constexpr int kPerTurn = 128;

  // Both outlive it.
  KvEventThread(Edge& edge, RunTap& tap);
  ~KvEventThread();
  KvEventThread(const KvEventThread&) = delete;
  KvEventThread& operator=(const KvEventThread&) = delete;

  void SetSources(std::vector<KvEventSource> sources);
  // Ends within a turn. A second call does nothing.
  void Stop();

 private:
  struct Followed;
  struct Sockets;

  // Where the system gives no thread, the log says so and no events are followed; the next sources try again.
  void StartThread();
  void Run();
  void TakeTurn(Sockets& sockets);
  void TakeSources(Sockets& sockets);
  void TakeRuns(Instant now);
  // False: the turn that began then is over, or the thread ends.
  bool HasTime(Instant began) const;
  // True: there may be more to read.
  bool Read(Followed& followed, Instant now);
  bool ReadReplay(Followed& followed, Instant now);
  void Tell(Followed& followed, Instant now);
  void Count(Followed& followed);
  void Log(const Followed& followed, const std::string& message, LogLevel level = LogLevel::kInfo);

  Edge& edge_;
  RunTap& tap_;
  RunBook runs_;  // The fields up to `lines_` belong to the thread.
  std::vector<KvEventSource> sources_;
  std::optional<Instant> again_at_;  // A source could not be opened: all are tried again then.
  Instant counted_;
  std::vector<std::unique_ptr<Followed>> followed_;
  LineSampler lines_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::optional<std::vector<KvEventSource>> wanted_;  // Guarded. Empty: nothing new.
  std::thread thread_;                                // Runs once there is a source.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_KV_EVENTS_KV_EVENT_THREAD_H_
