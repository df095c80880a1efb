// What Penstock tells about itself on /metrics.
//
// Two sources: counters and histograms of the edge, kept here and updated as requests end; and the decision core's own
// view, handed to Serialise and turned into gauges and counters at scrape, so nothing in the core knows Prometheus.
// Thread-safe: any loop may call any function. OnRequest costs about a microsecond (one hash lookup, then atomic
// adds), the other On... functions a few hundred nanoseconds.
//
// Cardinality is bounded: endpoints, outcomes, reasons and kinds are closed sets; models, classes, replicas and pools
// are the fleet's (SetFleet); tenants are labels only when the configuration names them. Every other value is "other".
// Names: penstock_ first, base units (seconds, bytes, ratio), counters end in _total.
#ifndef PENSTOCK_ROUTER_TELEMETRY_TELEMETRY_H_
#define PENSTOCK_ROUTER_TELEMETRY_TELEMETRY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/units.h"
#include "router/core/contract/admission_core.h"
#include "router/core/contract/fleet.h"
#include "router/labels/labels.h"

namespace penstock {

// One ended request, as the edge saw it. Unknown durations stay unset.
struct RequestRecord {
  std::string request_id;     // x-request-id; for the log, never a label.
  std::string endpoint;       // One of kEndpointLabels.
  std::string model;          // Empty when the request named none.
  std::string service_class;  // Class.
  std::string tenant;         // Configured name; empty: anonymous.
  std::string replica;        // Empty when it reached none.
  RequestOutcome outcome = RequestOutcome::kOk;
  std::string reason;  // Label of the Refusal, BadInput or EngineErrorKind; empty when all went well.
  int status = 200;    // HTTP status sent; 499 when the client went before one.
  bool streamed = false;
  Tokens prompt_estimate{0};
  Tokens prompt{0};  // From usage; 0: not told.
  Tokens output{0};
  int64_t active_tokens = 0;
  int64_t late_tokens = 0;
  int64_t abandoned_tokens = 0;
  std::optional<Duration> queue_wait;  // Set for requests that were forwarded or waited.
  std::optional<Duration> ttft;        // From arrival to the first token at the client; streamed answers.
  std::optional<Duration> tpot;        // (last - first token) / (tokens - 1).
  std::optional<Duration> total;       // From arrival to the last byte.
};

// What a tenant's limit of tokens leaves it now; negative when it is overdrawn.
struct TenantAvailable {
  std::string tenant;
  Tokens tokens{0};
};

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

  // Names that may be labels from now on, block sizes of token pools, and the configured tenants. At start and after
  // every change of the fleet.
  void SetFleet(const Fleet& fleet);
  void SetTenants(const std::vector<std::string>& tenants);

  void OnRequest(const RequestRecord& record);
  // Time inside AdmissionCore::Apply, without waiting for its lock.
  void OnDecision(Duration spent);
  void OnBadInput(BadInput kind);
  void OnEngineError(absl::string_view replica, EngineErrorKind kind);
  // An engine failed after the client had part of its answer.
  void OnResume(ResumeResult result);
  // One failed or successful scrape of an engine.
  void OnEnginePoll(absl::string_view replica, bool ok);
  void OnConfigReload(bool ok);

  // Refused at the door: a limit of the edge is reached.
  void OnTurnedAway(TurnedAway limit);
  // How much of a limit is in use; 1: full.
  void SetFill(Bounded what, double ratio);
  void OnConnectionOpened();
  void OnConnectionClosed();
  // Bytes of request and answer bodies held in memory.
  void AddBufferedBytes(int64_t delta);
  void SetDraining(bool draining);

  // The exposition text (version 0.0.4). `log_lines_dropped` is DecisionLog::dropped().
  std::string Serialise(const CoreView& view, int64_t log_lines_dropped = 0,
                        const std::vector<TenantAvailable>& tenants = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_TELEMETRY_H_
