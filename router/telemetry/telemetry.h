// The metrics of the router on /metrics.
//
// They have two sources. The edge counts here as requests end. The decision core hands its view to Serialise at scrape,
// so nothing in the core knows Prometheus. Thread-safe: any loop may call any function. OnRequest costs about a
// microsecond (hash lookups, then atomic adds), the other On... functions a few hundred nanoseconds.
//
// Cardinality is bounded. Endpoints, outcomes, reasons and kinds are closed sets. Models, classes, replicas, pools and
// GPUs are those of the fleet (SetFleet); tenants are labels only when the configuration names them. Every other value
// is "other". Gauges of a replica, a pool or a model end when it leaves the fleet and nothing of it is left. Its
// counters end when its last request has ended and its place is vacant; a name that comes back begins at zero. So the
// page is as long as the present fleet asks. Names, labels and help: router/telemetry/registry/metric_list.h.
#ifndef PENSTOCK_ROUTER_TELEMETRY_TELEMETRY_H_
#define PENSTOCK_ROUTER_TELEMETRY_TELEMETRY_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/turn_meter.h"
#include "base/units.h"
#include "router/core/accounts/gpu_report.h"
#include "router/core/contract/admission_core.h"
#include "router/core/contract/fleet.h"
#include "router/labels/labels.h"
#include "router/telemetry/request_record.h"

namespace penstock {

// The Unix times at which the certificates of listeners end, by the name of the listener. Others have none.
using CertificateEnds = std::map<std::string, double>;

struct TelemetryOptions {
  std::vector<std::string> tenants;             // Configured names, in the order of the file.
  Duration stale_after = Duration::Seconds(2);  // An engine report older than this is stale.
  std::string version = "0";                    // For penstock_build_info.
  size_t max_names = 1024;                      // Distinct values of one label at a time.
  CertificateEnds certificates = {};
};

// Tokens by the outcome of their request. Those of kOk are late, the others abandoned.
using WastedTokens = std::array<int64_t, kRequestOutcomeLabels.size()>;
// The cause of a waste in metrics and pages.
constexpr absl::string_view WasteCause(size_t outcome) {
  return outcome == static_cast<size_t>(RequestOutcome::kOk) ? "late" : kRequestOutcomeLabels[outcome];
}

class BatchMetrics;
class EngineMetrics;
class RealtimeMetrics;
struct StoreMetrics;

class Telemetry {
 public:
  explicit Telemetry(const TelemetryOptions& options = {});
  ~Telemetry();
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;

  // Names that may be labels, and block sizes of token pools. The series of names that it lacks end. Called at start
  // and after every change of the fleet, by one thread.
  void SetFleet(const Fleet& fleet);
  // The tenants that requests may have. The series of others end.
  void SetTenants(const std::vector<std::string>& tenants);

  EngineMetrics& engines();
  BatchMetrics& batches();
  RealtimeMetrics& realtime();
  StoreMetrics& store();
  void OnRequest(const RequestRecord& record);
  // An error with this status answers what is no request for an engine, or never became one. True: the reason is one of
  // kRefusals, and counts as such.
  bool OnRefusal(int status, absl::string_view reason);
  // Time inside AdmissionCore::Apply, without waiting for its lock.
  void OnDecision(Duration spent);
  void OnBadInput(BadInput kind);
  // The end of an answer whose engine failed after the client had part of it.
  void OnResume(ResumeResult result);
  // A call that so many embedding requests shared.
  void OnMerged(MergeEnd end, size_t requests);
  // `certificates` are those of the configuration that was taken.
  // `restart_keys`: keys of the new configuration that wait for a restart.
  void OnConfigReload(bool ok, CertificateEnds certificates = {}, size_t restart_keys = 0);
  void OnSpans(SpanEnd end, size_t spans);

  // A connection or request was refused before it became a request: a limit of the edge was reached.
  void OnTurnedAway(TurnedAway limit);
  // The used share of a limit; 1: full.
  void SetFill(Bounded what, double ratio);
  void OnConnection(bool opened);
  void OnHttp2(Http2Event event);
  // Bytes of request and answer bodies held in memory.
  void AddBufferedBytes(int64_t delta);
  void SetDraining(bool draining);

  // The view without what has left the fleet (SetFleet).
  CoreView Shown(const CoreView& view) const;
  WastedTokens Wasted() const;
  // The exposition text (version 0.0.4). `log_lines_dropped` is DecisionLog::dropped().
  std::string Serialise(const CoreView& view, int64_t log_lines_dropped = 0, const GpuReport& gpus = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The exposition text of the families of the loops. Pure.
std::string LoopMetricsText(const std::vector<const TurnMeter*>& loops, Instant now);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_TELEMETRY_H_
