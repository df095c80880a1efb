// The accounts of a simulated run: one record per request, the GPUs' time, and the errors of the router's forecasts.
//
// The GPUs' time follows from the events and actions of the core, as in a live router. One owner; a call costs O(1), an
// event O(log requests), a change of the waiting requests O(GPUs) at most.
#ifndef PENSTOCK_BENCH_SIMULATION_SIMULATION_ACCOUNTS_H_
#define PENSTOCK_BENCH_SIMULATION_SIMULATION_ACCOUNTS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/figures/results.h"
#include "bench/simulation/engines/adapter_loads.h"
#include "bench/simulation/engines/residency_orders.h"
#include "bench/simulation/engines/simulated_fleet.h"
#include "bench/simulation/engines/step_time.h"
#include "bench/simulation/stranded_series.h"
#include "router/core/accounts/gpu_accounts.h"
#include "router/core/accounts/stranded_book.h"
#include "router/core/accounts/work_book.h"
#include "router/core/contract/action.h"
#include "router/core/contract/admission_core.h"

namespace penstock::bench {

// Orders to sleep and to wake, as the engines saw them.
struct OrderCounts {
  int64_t sleeps = 0;
  int64_t wakes = 0;
  int64_t failed = 0;
  double asleep = 0;  // Seconds, of all replicas.
};

// Loads of adapters.
struct LoadCounts {
  int64_t loads = 0;
  int64_t failed = 0;
};

struct SimulationOutcome {
  std::vector<RequestRecord> records;
  int64_t preemptions = 0;
  int64_t recomputed_tokens = 0;  // Within the window, the prompts of requeued requests included.
  int64_t cached_tokens = 0;      // Prompt tokens that the engines had cached, of requests that they ended.
  int64_t overflow_failures = 0;  // Requests that the exhaustion of a fatal pool ended.
  int64_t aborts = 0;             // Requests that the core took back.
  OrderCounts orders;
  LoadCounts loads;
  CoreView final_view;
  std::vector<GpuTime> gpu_time;         // In the window, by GPU.
  std::vector<StepTime> step_time;       // Of steps that ended in the window, by GPU.
  std::vector<StrandedMemory> stranded;  // In the window, by pool.
  std::vector<double> stranded_series;   // Share of the KV memory, by StrandedSeries::kSlices of the window.
  std::vector<double> decision_us;       // Real time of each Apply; differs between equal runs.
  std::vector<double> prompt_errors;     // Relative error of each estimate.
  // At 1, 10 and 60 s.
  std::array<std::vector<PoolView::ForecastError>, kForecastChecks> pool_errors;
};

class SimulationAccounts {
 public:
  // `spec` outlives this object. Rates and states are taken over `window`.
  SimulationAccounts(const SimulatedFleetSpec& spec, Duration window);

  GpuAccounts& gpus() { return gpus_; }

  // Opens the record of the next request.
  void Offer(const SimulatedArrival& arrival);
  // The core took `event` and answered with `actions`.
  void Observe(const Event& event, Instant now, const std::vector<Action>& actions) {
    work_.Observe(event, now, actions);
  }
  // `late[replica]` of its streams are overdue. `waits`: what memory holds back now.
  void SampleWork(const std::vector<int64_t>& late, const MemoryWaits& waits, Instant now) {
    work_.Sample(late, waits, now);
    stranded_.Sample(waits, now);
    series_.Take(stranded_.pools(), spec_.fleet.pools, now);
  }
  void Forwarded(const Forward& forward);
  // `count` tokens of the request reached its client.
  void Delivered(uint64_t request, Instant now, int64_t count = 1) {
    outcome_.records[request].tokens.Add(now - Instant(), count);
  }
  // Some of the answer has reached the client.
  bool HasBegun(uint64_t request) const { return outcome_.records[request].tokens.tokens() > 0; }
  void Refused(uint64_t request, const Refuse& refuse) { outcome_.records[request].early = refuse.early; }
  void Ended(uint64_t request, Fate fate, const std::string& reason, Instant now);

  void TakeOrders(const ResidencyOrders& orders, const AdapterLoads& loads) {
    outcome_.orders = {orders.sleeps(), orders.wakes(), orders.failed(), orders.SecondsAsleep()};
    outcome_.loads = {loads.loads(), loads.failed()};
  }
  void CountCached(Tokens tokens) { outcome_.cached_tokens += tokens.value(); }
  void CountAbort() { ++outcome_.aborts; }
  void CountOverflowFailure() { ++outcome_.overflow_failures; }
  void CountDecision(double microseconds) { outcome_.decision_us.push_back(microseconds); }
  void CountPromptError(double relative) { outcome_.prompt_errors.push_back(relative); }
  // The engine of a request that had to move computes these tokens again.
  void CountRecomputed(Tokens tokens) { recomputed_elsewhere_ += tokens.value(); }
  // Takes the forecast comparisons that came due since the last call.
  void TakeForecastErrors(const CoreView& view);

  // The window is over; `engines`: what they did until now.
  void EndWindow(const EngineTotals& engines);
  // The run is over at `now`. Ends the window where it is still open. Called once, last.
  SimulationOutcome Finish(const EngineTotals& engines, CoreView final_view, Instant now);

 private:
  const SimulatedFleetSpec& spec_;
  Duration window_;
  GpuAccounts gpus_;
  WorkBook work_{gpus_};
  StrandedBook stranded_;
  StrandedSeries series_;
  SimulationOutcome outcome_;
  int64_t recomputed_elsewhere_ = 0;
  bool window_over_ = false;
  std::array<std::vector<int64_t>, kForecastChecks> compared_;  // Comparisons taken, by pool.
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_SIMULATION_ACCOUNTS_H_
