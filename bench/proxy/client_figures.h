// The figures of one run of proxy_client: counts, latencies, and the CPU time of other processes, over a window.
#ifndef PENSTOCK_BENCH_PROXY_CLIENT_FIGURES_H_
#define PENSTOCK_BENCH_PROXY_CLIENT_FIGURES_H_

#include <cstdint>
#include <utility>
#include <vector>

namespace penstock::proxy_bench {

struct Figures {
 public:
  // Counts the CPU time of these processes.
  explicit Figures(std::vector<int> pids) : pids_(std::move(pids)) {}

  // Begins the window: all counts but errors and first events start anew.
  void Begin();
  void End();
  bool measuring() const { return measuring_; }
  // The beginning of the window, in microseconds of the clock.
  int64_t began() const { return window_; }
  // One JSON line on stdout.
  void Print();

  int64_t requests = 0;
  int64_t events = 0;
  int64_t errors = 0;
  std::vector<double> latencies;  // In microseconds, as the next two.
  std::vector<double> first;      // From the request to its first event.
  std::vector<double> gaps;       // Between two events of a stream.

 private:
  std::vector<int> pids_;
  bool measuring_ = false;
  int64_t window_ = 0;  // The beginning; after the end the length.
  int64_t cpu_ = 0;     // Nanoseconds, by the same rule.
};

}  // namespace penstock::proxy_bench

#endif  // PENSTOCK_BENCH_PROXY_CLIENT_FIGURES_H_
