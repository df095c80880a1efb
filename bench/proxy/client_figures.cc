#include "bench/proxy/client_figures.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "bench/proxy/wire.h"

namespace penstock::proxy_bench {
namespace {

// Nanoseconds on a core of all threads of the processes.
int64_t CpuNanos(const std::vector<int>& pids) {
  int64_t sum = 0;
  for (const int pid : pids) {
    std::error_code gone;
    for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone)) {
      int64_t nanos = 0;
      std::ifstream(task.path() / "schedstat") >> nanos;
      sum += nanos;
    }
  }
  return sum;
}

double Percentile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  const auto at =
      static_cast<std::ptrdiff_t>(std::min(values.size() - 1.0, share * static_cast<double>(values.size())));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<size_t>(at)];
}

}  // namespace

void Figures::Begin() {
  window_ = NowMicros();
  cpu_ = CpuNanos(pids_);
  requests = events = 0;
  latencies.clear();
  gaps.clear();
  measuring_ = true;
}
void Figures::End() {
  measuring_ = false;
  cpu_ = CpuNanos(pids_) - cpu_;
  window_ = NowMicros() - window_;
}

void Figures::Print() {
  const double seconds = static_cast<double>(window_) / 1e6;
  std::printf(
      "{\"requests\":%lld,\"events\":%lld,\"seconds\":%.3f,\"cpu_us\":%.0f,\"errors\":%lld,"
      "\"p50_us\":%.0f,\"p99_us\":%.0f,\"first_p50_us\":%.0f,\"first_p99_us\":%.0f,\"gap_p50_us\":%.0f,"
      "\"gap_p99_us\":%.0f}\n",
      static_cast<long long>(requests), static_cast<long long>(events), seconds, static_cast<double>(cpu_) / 1e3,
      static_cast<long long>(errors), Percentile(latencies, 0.5), Percentile(latencies, 0.99), Percentile(first, 0.5),
      Percentile(first, 0.99), Percentile(gaps, 0.5), Percentile(gaps, 0.99));
}

}  // namespace penstock::proxy_bench
