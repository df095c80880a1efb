// The metrics of the router on /metrics.
//
// They have two sources. The edge counts here as requests end. The decision core hands its view to Serialise at scrape,
// so nothing in the core knows Prometheus. Thread-safe: any loop may call any function. OnRequest costs about a
// microsecond (hash lookups, then atomic adds), the other On... functions a few hundred nanoseconds.
//
// Cardinality is bounded. Endpoints, outcomes, reasons and kinds are closed sets. Models, classes, replicas and pools
// are those of the fleet (SetFleet); tenants are labels only when the configuration names them. Every other value is
// "other". Gauges of a replica, a pool or a model end when it leaves the fleet and nothing of it is left; counters
// stay. Names, labels and help: router/telemetry/metric_list.h.
#ifndef PENSTOCK_ROUTER_TELEMETRY_TELEMETRY_H_
#define PENSTOCK_ROUTER_TELEMETRY_TELEMETRY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/units.h"
#include "router/core/contract/admission_core.h"
#include "router/core/contract/fleet.h"
#include "router/labels/labels.h"
#include "router/telemetry/request_record.h"

namespace penstock {

struct TelemetryOptions {
  std::vector<std::string> tenants;             // Configured names, in the order of the file.
  Duration stale_after = Duration::Seconds(2);  // An engine report older than this is stale.
  std::string version = "0";                    // For penstock_build_info.
  size_t max_names = 1024;                      // Distinct values of one label, over all reloads.
};

class Telemetry {
 public:
  explicit Telemetry(const TelemetryOptions& options = {});
  ~Telemetry();
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;

  // Names that may be labels, and block sizes of token pools. Called at start and after every change of the fleet.
  void SetFleet(const Fleet& fleet);
  // The configured tenants. Called at start and after every reload.
  void SetTenants(const std::vector<std::string>& tenants);

  void OnRequest(const RequestRecord& record);
  // Time inside AdmissionCore::Apply, without waiting for its lock.
  void OnDecision(Duration spent);
  void OnBadInput(BadInput kind);
  void OnEngineError(absl::string_view replica, EngineErrorKind kind);
  // An engine reported a count of tokens that is impossible.
  void OnFalseUsage(absl::string_view replica);
  // The end of an answer whose engine failed after the client had part of it.
  void OnResume(ResumeResult result);
  // One scrape of an engine.
  void OnEnginePoll(absl::string_view replica, bool ok);
  // Another reading of the models and limits of a running engine.
  void OnReread(absl::string_view replica, Reread result);
  // A sleep or a wake ended.
  void OnSleepEnd(absl::string_view replica, SleepResult result);
  // The engine says that it sleeps, and answers.
  void OnFalseSleep(absl::string_view replica);
  void OnWakeEnd(absl::string_view replica, SleepResult result, Duration took);
  void OnConfigReload(bool ok);

  // A connection or request was refused before it became a request: a limit of the edge was reached.
  void OnTurnedAway(TurnedAway limit);
  // The used share of a limit; 1: full.
  void SetFill(Bounded what, double ratio);
  void OnConnectionOpened();
  void OnConnectionClosed();
  // Bytes of request and answer bodies held in memory.
  void AddBufferedBytes(int64_t delta);
  void SetDraining(bool draining);

  // The exposition text (version 0.0.4). `log_lines_dropped` is DecisionLog::dropped().
  std::string Serialise(const CoreView& view, int64_t log_lines_dropped = 0) const;

 private:
  struct State;
  // A counter that nobody has seen at zero misses its first increase.
  void StartAtZero(const ReplicaSpec& replica);
  std::unique_ptr<State> state_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_TELEMETRY_H_
