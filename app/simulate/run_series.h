// The course of a simulated run: what happened per slice of its time, from its events and actions.
//
// Pure; one owner. Memory is bounded by the slices and by the requests that are open. An event costs a look-up.
#ifndef PENSTOCK_APP_SIMULATE_RUN_SERIES_H_
#define PENSTOCK_APP_SIMULATE_RUN_SERIES_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "router/core/contract/action.h"
#include "router/core/contract/event.h"

namespace penstock {

class RunSeries {
 public:
  static constexpr size_t kSlices = 240;

  struct Slice {
    double waiting = 0;          // The most requests that waited at one time.
    double active_tokens = 0;    // Of requests that finished, delivered in time.
    double late_tokens = 0;      // Of requests that finished, delivered late.
    double fullest_memory = -1;  // Share of the KV memory in use, of the fullest replica; below 0: no report.
    double mean_memory = -1;     // Over the replicas that reported.
    double median_ttft = -1;     // Seconds, of requests that arrived in the slice and got a token; below 0: none did.
    double slow_ttft = -1;       // Their 90th percentile.
    double refused = 0;          // Requests.
    double stranded_memory = 0;  // Share of the KV memory that fitted nobody while requests waited for memory.
  };

  // `window` is the time that the slices divide; later events count nowhere.
  RunSeries(const Fleet& fleet, Duration window);

  void Take(const Event& event, Instant now, const std::vector<Action>& actions);
  Duration slice_length() const { return slice_; }
  // Up to the end of the window. The tokens of a request are spread evenly from its first to its last.
  std::vector<Slice> Slices();

 private:
  struct Open {
    Instant arrival;
    size_t service_class = 0;
    bool waiting = false;
    bool started = false;
    Instant first;
  };

  size_t SliceAt(Instant at) const;
  void MoveTo(Instant now);
  void SetWaiting(RequestId request, bool waiting);
  void OnFirstToken(RequestId request, Instant now);
  void OnClosed(const RequestClosed& closed, Instant now);
  void OnReport(const EngineReport& report);
  void OnAction(const Action& action);

  const std::vector<ClassSpec> classes_;
  const Duration slice_;
  std::vector<Slice> slices_;
  std::vector<std::vector<double>> ttfts_;  // One list per slice, that of the arrival.
  std::unordered_map<uint64_t, Open> open_;
  std::vector<double> memory_;  // One share per replica; below 0: no report yet.
  int64_t waiting_ = 0;
  size_t at_ = 0;
  size_t reported_at_ = kSlices;  // The slice of the newest report.
};

}  // namespace penstock

#endif  // PENSTOCK_APP_SIMULATE_RUN_SERIES_H_
