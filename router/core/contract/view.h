// Snapshots of a decision core for metrics, pages and receipts. Values; they are never read back by the core.
#ifndef PENSTOCK_ROUTER_CORE_CONTRACT_VIEW_H_
#define PENSTOCK_ROUTER_CORE_CONTRACT_VIEW_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/engine_role.h"
#include "base/grey_cause.h"
#include "base/health.h"
#include "base/residency.h"
#include "base/units.h"
#include "kvmodel/prefill_work.h"
#include "router/core/contract/node_residual.h"
#include "router/core/contract/wait_reason.h"

namespace penstock {

// Horizons at which pool forecasts are compared with what came: 1, 10 and 60 s.
inline constexpr size_t kForecastChecks = 3;

// Seconds from now at which a pool's forecast is shown.
inline constexpr std::array<double, 4> kFanSeconds = {5, 15, 30, 60};

// A pool as dashboards show it. Amounts in the pool's unit.
struct PoolView {
  std::string name;
  bool in_bytes = true;
  Amount capacity{0};       // As configured or discovered.
  Amount promised{0};       // Expected final footprint of all live leases. Zero when nothing runs.
  Amount held{0};           // Prompt and generated so far, prompts on their way included.
  Amount draining{0};       // Aborted, not yet known to be free.
  Amount forecast_peak{0};  // Mean + z sigma at its worst horizon.
  Amount reported{0};       // The engine's own figure at the last report.
  Amount foreign{0};        // Used by others than this router.
  Amount overdraft{0};      // Used by own requests beyond what their leases hold.
  Amount lent{0};           // Held by its parked streams when they left.
  double z = 0;
  Duration report_age;     // Duration::Infinite() before the first report.
  int64_t overdrafts = 0;  // Events so far.
  // The newest comparison at 1, 10 and 60 s. The error is the forecast mean of the leases then live, minus the memory
  // that they held when it was due, over capacity.
  struct ForecastError {
    double error = 0;
    double sigma = 0;      // The standard deviation that was forecast, over capacity.
    double lengths = 0;    // The part of it that is left where the pace is known: chance alone.
    int64_t compared = 0;  // Comparisons so far.
    bool operator==(const ForecastError&) const = default;
  };
  std::array<ForecastError, kForecastChecks> forecast_errors;
  // The forecast at kFanSeconds, in the pool's unit.
  struct FanPoint {
    double mean = 0;
    double sigma = 0;
    bool operator==(const FanPoint&) const = default;
  };
  std::array<FanPoint, kFanSeconds.size()> fan;
  // The requests that ran when the newest forecast for the last check was made, and the memory that they hold now.
  struct Cohort {
    Duration age = Duration::Infinite();  // Since then; Infinite(): there is no such forecast.
    Amount held{0};
  };
  Cohort cohort;
};

// The cache of a replica in elastic memory, where its engine has a limit of its own.
struct ElasticView {
  bool known = false;  // A report came.
  Bytes limit{0};
  Bytes used{0};
  Bytes preallocated{0};
  Duration age;               // Since the newest report.
  int64_t orders = 0;         // Limits that the core ordered.
  int64_t orders_failed = 0;  // Of those, limits that were not read back.
};

// A replica that answers but is slow (router/core/grey).
struct GreyView {
  double derate = 1;  // Times that its steps take longer than those of its peers; 1: it is well.
  bool stalled = false;
  GreyCause cause = GreyCause::kNone;
  std::array<int64_t, kGreyCauses> events{};  // Begins so far, by cause.
  double found_after = 0;                     // Steps of the replica from the first slow one to the newest derate.
  Instant found_at;                           // The newest derate began then; Instant(): none.
};

// The part that the exporters of its node have in a replica (router/core/nodes).
struct NodeShareView {
  double derate = 1;            // Times that its steps are taken to be longer than those of its peers.
  double storage_pressure = 0;  // As reported.
  bool closed = false;          // It is spared new requests while a peer can take them.
  double cpu_pressure = 0;      // As reported.
};

// A node, as far as GPU ids name it (router/core/nodes/residuals.h).
struct NodeView {
  std::string name;
  NodeResidual left;
  int64_t replicas = 0;          // Those that may take requests.
  int64_t storage_requests = 0;  // Before their first token, that need its storage.
};

// A host with a bound for the weights of sleeping replicas (router/core/residency/host_memory.h).
struct HostView {
  std::string name;
  Bytes used{0};  // Above the bound where a reload lowered it, or engines were found asleep.
  Bytes sleep_memory{0};
  int lacking = 0;  // Idle replicas that stay awake for want of it.
};

struct ReplicaView {
  std::string name;
  std::string model;
  EngineRole role = EngineRole::kBoth;
  Health health = Health::kDown;
  Residency residency = Residency::kAwake;
  bool sleeps = false;  // It may give its memory back.
  int64_t sleeps_ordered = 0;
  int64_t wakes_ordered = 0;
  int64_t wakes_failed = 0;
  double wake_time = 0;     // Seconds that its next wake is expected to take.
  int64_t running = 0;      // Live leases.
  int64_t prefilling = 0;   // Leases before their first token.
  PrefillWork backlog;      // Dispatched and not yet computed.
  double step_factor = 1;   // Learned over prior step time.
  int busy_neighbours = 0;  // Replicas on its GPUs that have work; part of what the factor is learned for.
  double host_time = 0;     // Seconds of a first token that no step explains, learned.
  double tokens_per_s = 0;  // Forecast decode rate of one stream.
  int64_t preemptions = 0;  // Reported since start.
  ElasticView elastic;
  GreyView grey;
  NodeShareView node;
};

struct LaneView {
  std::string model;
  std::string service_class;
  int64_t waiting = 0;   // Parked streams among them.
  Duration oldest_wait;  // The longest wait since an arrival; zero when none waits.
  int64_t parked = 0;
  double drain_rate = 0;  // Requests per second that leave the queue of the model, of all classes; 0: none has yet.
};

// A tenant with a limit of tokens.
struct TenantView {
  std::string name;
  Tokens available{0};  // Negative: overdrawn.
};

// The rest of one tenant's limits.
struct AllowanceView {
  int64_t max_requests = 0;     // At a time; 0: no limit.
  int64_t requests = 0;         // That wait or run.
  Tokens tokens_per_minute{0};  // 0: no limit.
  Tokens tokens{0};             // Left; negative: overdrawn.
};

// The share of a configured tenant, where tenants have shares. Service is in the unit of the fleet's fairness.
struct ShareView {
  std::string name;
  double weight = 1;
  double service = 0;  // Charged since start, corrected at the end of each request.
  double ahead = 0;    // The counter less the floor (service_ledger.h); the most of any lane.
};

// Counters since start; they only grow.
struct CoreCounters {
  // Calibration of output forecasts: outputs at or below the quantile that was forecast at admission.
  int64_t outputs_observed = 0;
  int64_t outputs_below_p50 = 0;
  int64_t outputs_below_p90 = 0;
  int64_t outputs_below_p99 = 0;
  double pinball_p50 = 0;  // Sums of pinball loss in tokens.
  double pinball_p90 = 0;
  double pinball_p99 = 0;
  // Prompt tokens of ended requests whose cached part is known; expected to be cached at their dispatch; found to be.
  int64_t prompts_compared = 0;
  int64_t cached_expected = 0;
  int64_t cached_found = 0;
  // The part of both that lay in the memory of hosts.
  int64_t host_expected = 0;
  int64_t host_found = 0;
  int64_t aborts = 0;
  int64_t requeues = 0;
  int64_t parked = 0;       // Streams that lent their memory; each time counts.
  int64_t evicted = 0;      // Requests that made room for a class above theirs; each time counts.
  int64_t hinted = 0;       // Requests of which only the session's name spoke for cached tokens at their replica.
  int64_t book_drifts = 0;  // Recounts of the books that found a difference; 0 unless the core is wrong.
};

struct CoreView {
  std::vector<PoolView> pools;
  std::vector<ReplicaView> replicas;
  std::vector<NodeView> nodes;
  std::vector<HostView> hosts;
  std::vector<LaneView> lanes;
  std::vector<TenantView> tenants;
  std::vector<ShareView> shares;
  CoreCounters counters;
  int64_t queued_requests = 0;
  Bytes queued_bytes{0};
};

// Why one request waits.
struct WaitView {
  WaitReason reason = WaitReason::kBehindOthers;
  int64_t position = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_CONTRACT_VIEW_H_
