// Makes snapshots of the router for its viewers, at most one a second however many they are.
//
// A thread of its own builds them, so no loop and no request waits. It asks the core for a view, every loop for its
// oldest requests, and the log for its newest decisions. All viewers share one immutable snapshot. Without a viewer it
// only notes the delivered tokens once a second. Thread-safe.
#ifndef PENSTOCK_ROUTER_PAGE_PAGE_FEED_H_
#define PENSTOCK_ROUTER_PAGE_PAGE_FEED_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/units.h"
#include "router/live/event_loop.h"
#include "router/page/comparison.h"
#include "router/page/configuration_state.h"
#include "router/page/page_facts.h"
#include "router/page/token_history.h"
#include "router/shadow/shadow_report.h"

namespace penstock {

struct PageSnapshot {
  uint64_t sequence = 0;
  Instant made;
  std::string fleet;
  std::string requests;
  std::string tenants;
  std::string shadow;
  // All of them as one server-sent event.
  std::string event;
  // Its data, without the frame of the event.
  absl::string_view state() const;
};

class PageFeed {
 public:
  using Pointer = std::shared_ptr<const PageSnapshot>;
  static constexpr Duration kPeriod = Duration::Seconds(1);
  static constexpr int kMostViewers = 32;
  static constexpr size_t kRecentDecisions = 100;
  // Requests of each kind that a snapshot names.
  static constexpr size_t kMostRequests = 100;

  // `edge` and `loops` outlive it. The loops run from Start to Stop.
  // Without `comparison` the page compares nothing.
  PageFeed(Edge& edge, std::vector<EventLoop*> loops, std::string version, Comparison comparison = nullptr);
  ~PageFeed();
  PageFeed(const PageFeed&) = delete;
  PageFeed& operator=(const PageFeed&) = delete;

  void Start();
  void Stop();

  // Calls `done`, on any thread and perhaps at once, with a snapshot that is at most kPeriod old and newer than number
  // `after`. Never, once the feed has stopped.
  void Ask(uint64_t after, std::function<void(Pointer)> done);

  // A viewer of the stream comes; false: there are kMostViewers.
  bool Enter();
  void Leave() { viewers_.fetch_sub(1, std::memory_order_relaxed); }

  // Before Start; without it the router has no shadow.
  void SetShadow(ShadowSource shadow) { shadow_ = std::move(shadow); }
  std::optional<ShadowReport> ShadowNow() const { return shadow_ ? shadow_() : std::nullopt; }
  ConfigurationState& configuration() { return configuration_; }
  static double WallSeconds();

 private:
  void Run();
  // Null: no loop has said what the fleet is.
  Pointer Build(uint64_t sequence);
  void SampleTokens(Instant now);
  void AddRequests(PageFacts& facts);

  Edge& edge_;
  const std::vector<EventLoop*> loops_;
  const std::string version_;
  const Comparison comparison_;
  ShadowSource shadow_;
  const Instant started_;
  ConfigurationState configuration_;
  std::atomic<int> viewers_{0};
  // The thread's.
  struct Own {
    TokenHistory tokens;
    std::shared_ptr<const FleetView> fleet;  // The newest that a loop had.
  } own_;
  std::thread thread_;

  std::mutex mutex_;  // Guards everything below.
  std::condition_variable changed_;
  std::vector<std::function<void(Pointer)>> askers_;
  Pointer latest_;
  bool stop_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_PAGE_PAGE_FEED_H_
