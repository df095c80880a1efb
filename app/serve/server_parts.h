// The inside of server.h: the objects that make up a router, in the order of their dependence. Only server.cc includes
// it.
#ifndef PENSTOCK_APP_SERVE_SERVER_PARTS_H_
#define PENSTOCK_APP_SERVE_SERVER_PARTS_H_

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/serve/reports.h"
#include "app/serve/server.h"
#include "app/shadow/shadow_thread.h"
#include "backends/simulated/fleet/fleet.h"
#include "router/http/listener.h"
#include "router/http/pages/metrics_desk.h"
#include "router/http/pages/model_desk.h"
#include "router/jobs/run/batch_runner.h"
#include "router/jobs/worker/job_thread.h"
#include "router/live/event_loop.h"
#include "router/live/fleet/elastic_keeper.h"
#include "router/live/fleet/fleet_monitor.h"
#include "router/live/kv_events/kv_event_keeper.h"
#include "router/live/nodes/node_keeper.h"
#include "router/live/sampling/progress_sampler.h"
#include "router/page/page_feed.h"
#include "router/tracing/export/span_exporter.h"

namespace penstock {

inline size_t LoopCount(const Config& config) {
  const size_t wanted = config.threads > 0 ? static_cast<size_t>(config.threads) : std::thread::hardware_concurrency();
  return std::clamp<size_t>(wanted, 1, kMaxLoops);
}

inline bool RunsInside(const ReplicaConfig& replica) { return replica.simulated && replica.url.empty(); }

inline std::vector<std::string> TenantNames(const Config& config) {
  std::vector<std::string> names;
  names.reserve(config.tenants.size());
  for (const TenantConfig& tenant : config.tenants) names.push_back(tenant.name);
  return names;
}

inline TelemetryOptions TelemetryOptionsOf(const Config& config, const std::string& version) {
  TelemetryOptions options;
  options.certificates = CertificateEndsOf(config.tls, config.admin_tls);
  options.tenants = TenantNames(config);
  options.version = version;
  return options;
}

inline jobs::StoreLimits StoreLimitsOf(const StateConfig& state) {
  jobs::StoreLimits limits;
  limits.max_file = state.max_file;
  limits.max_bytes_per_tenant = state.max_bytes_per_tenant;
  limits.max_files_per_tenant = state.max_files_per_tenant;
  limits.max_open_batches_per_tenant = state.max_open_batches_per_tenant;
  limits.file_expiry = state.file_expiry;
  return limits;
}

// The prices of GPUs by name.
inline std::map<std::string, double> PricesOf(const Config& config) {
  std::map<std::string, double> prices;
  for (const GpuConfig& gpu : config.gpus) prices[gpu.id] = gpu.price;
  return prices;
}

// The parts, each after those that it depends on; destroyed from the last to the first.
struct RouterServer::Parts {
  Parts(const Config& the_config, const std::string& version)
      : config(the_config), telemetry(TelemetryOptionsOf(the_config, version)), board(LoopCount(the_config) + 1) {}

  Config config;
  Telemetry telemetry;
  // The threads that write lines and send spans.
  struct Reports {
    std::unique_ptr<DecisionLog> log;
    std::unique_ptr<SpanExporter> traces;  // Null: no request is traced.
  };

  Reports reports;
  ProgressBoard board;
  // They see every event of the core.
  struct Observers {
    GpuWatch gpus;
    RunTap runs;
    std::unique_ptr<ShadowThread> shadow;  // Null: the policy has none.
  };
  Observers observers;
  Edge edge;
  struct Simulated {
    std::unique_ptr<simulated::SimulatedFleet> fleet;  // Null: every replica has a URL.
    std::map<std::string, std::string> urls;           // URL by replica id.
  };
  struct Listeners {
    std::unique_ptr<Listener> clients;
    std::unique_ptr<Listener> admin;  // Null: admin pages are on the clients' listener.
  };
  // The parts by which the router shows itself.
  struct Pages {
    std::unique_ptr<PageFeed> feed;
    std::unique_ptr<MetricsDesk> metrics;
    std::unique_ptr<ModelDesk> models;
  };
  // Objects of the control loop.
  struct Watch {
    std::unique_ptr<FleetMonitor> monitor;
    std::unique_ptr<ElasticKeeper> elastic;
    std::unique_ptr<NodeKeeper> nodes;
    std::unique_ptr<KvEventThread> cache_events;  // With a thread of its own.
    std::unique_ptr<KvEventKeeper> caches;
    std::unique_ptr<ProgressSampler> sampler;
    std::unique_ptr<jobs::BatchRunner> batches;  // Null without a store.
  };

  enum class Phase : uint8_t { kMade, kStarted, kStopped };

  Simulated simulated;
  std::unique_ptr<jobs::JobThread> store;         // Null without `state.path`.
  std::vector<std::unique_ptr<EventLoop>> loops;  // Those of clients, and at last the one that watches the fleet.
  std::vector<EventLoop*> all_loops;
  std::unique_ptr<CoreHost> core;
  Watch watch;
  Pages pages;
  Listeners listeners;
  Phase phase = Phase::kMade;

  // The pages of engines can be long: no client waits for their reading.
  EventLoop& control() { return *loops.back(); }
  // Accepts connections.
  EventLoop& home() { return *loops.front(); }
  std::vector<EventLoop*> ClientLoops() const { return {all_loops.begin(), std::prev(all_loops.end())}; }
  void MakePages(const std::string& version, Comparison comparison) {
    pages.feed = std::make_unique<PageFeed>(edge, all_loops, version, std::move(comparison));
    if (ShadowThread* seen = observers.shadow.get()) pages.feed->SetShadow([seen] { return seen->Report(); });
    pages.metrics = std::make_unique<MetricsDesk>(control());
    pages.models = std::make_unique<ModelDesk>(control());
    edge.page = pages.feed.get();
    edge.metrics = pages.metrics.get();
    edge.models = pages.models.get();
  }
  void MakeCacheWatch() {
    watch.cache_events = std::make_unique<KvEventThread>(edge, observers.runs);
    watch.caches = std::make_unique<KvEventKeeper>(control(), watch.monitor->book(), *watch.cache_events);
  }
  // The runner of batches, where there is a store for them.
  void MakeRunner() {
    if (store == nullptr) return;
    watch.batches = std::make_unique<jobs::BatchRunner>(control(), ClientLoops(), *store);
    edge.on_batch = [runner = watch.batches.get()](jobs::BatchKey key) { runner->OnBatch(key); };
  }
  // Carries an order of the core out, on the control loop.
  void Carry(const FleetAction& action) {
    if (watch.monitor == nullptr || watch.elastic == nullptr) return;
    if (const auto* share = std::get_if<SetShare>(&action)) return watch.elastic->OnOrder(*share);
    if (const auto* load = std::get_if<LoadAdapter>(&action)) return watch.monitor->OnOrder(*load);
    if (const auto* sleep = std::get_if<Sleep>(&action)) {
      watch.monitor->OnOrder(sleep->replica, Verb::kSleep, sleep->level);
    }
    if (const auto* wake = std::get_if<Wake>(&action)) watch.monitor->OnOrder(wake->replica, Verb::kWake);
  }
};

}  // namespace penstock

#endif  // PENSTOCK_APP_SERVE_SERVER_PARTS_H_
