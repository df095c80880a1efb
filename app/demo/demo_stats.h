// The recent figures of the demo's clients. Thread-safe: clients report, the screen reads.
#ifndef PENSTOCK_APP_DEMO_DEMO_STATS_H_
#define PENSTOCK_APP_DEMO_DEMO_STATS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/units.h"
#include "bench/figures/results.h"

namespace penstock::bench {

struct DemoSnapshot {
  int64_t finished = 0;
  int64_t on_time = 0;
  int64_t failed = 0;
  std::map<std::string, int64_t> refused;  // Requests by reason.
  int64_t tokens = 0;                      // Delivered, by requests that ended.
  double active_per_s = 0;                 // Over the last ten seconds, by requests that ended then.
  double late_per_s = 0;
  Duration longest_stall;             // As in LoadOutcome; known once the clients ended.
  std::optional<Percentiles> ttft_s;  // Interactive requests that ended in the last 30 s.

  int64_t RefusedCount() const;
  int64_t Ended() const { return finished + failed + RefusedCount(); }
};

class DemoStats {
 public:
  // `now` is on any clock that all calls share, and may not go back.
  void OnSettled(const RequestRecord& record, Duration now);
  void OnStall(Duration longest);
  DemoSnapshot Snapshot(Duration now) const;

 private:
  struct Ended {
    Duration at;
    int64_t active = 0;
    int64_t late = 0;
    std::optional<double> ttft;
  };

  mutable std::mutex mutex_;
  DemoSnapshot totals_;
  std::deque<Ended> recent_;  // The last 30 s.
};

}  // namespace penstock::bench

#endif  // PENSTOCK_APP_DEMO_DEMO_STATS_H_
