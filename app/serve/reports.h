// The objects of a router that report: its log, its spans, its shadow. server.cc makes and owns them.
#ifndef PENSTOCK_APP_SERVE_REPORTS_H_
#define PENSTOCK_APP_SERVE_REPORTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "app/shadow/shadow_thread.h"
#include "config/config.h"
#include "config/values/policy_pair.h"
#include "router/live/core_host.h"
#include "router/live/gpu_watch.h"
#include "router/live/kv_events/run_tap.h"
#include "router/telemetry/log/decision_log.h"
#include "router/telemetry/telemetry.h"
#include "router/tracing/export/span_exporter.h"

namespace penstock {

// A line of the log per line of `text`.
void NoteLines(DecisionLog& log, absl::string_view head, absl::string_view text);
CertificateEnds CertificateEndsOf(const std::optional<ListenTlsConfig>& clients,
                                  const std::optional<ListenTlsConfig>& admin);
absl::StatusOr<std::unique_ptr<DecisionLog>> OpenLog(const Config& config);
// Null: the configuration has no collector. `telemetry` and `log` outlive the exporter.
absl::StatusOr<std::unique_ptr<SpanExporter>> MakeExporter(const Config& config, const std::string& version,
                                                           Telemetry& telemetry, DecisionLog& log);
// Null where the policy has no shadow. It looks at the core that `core` holds by then. `log` outlives it.
absl::StatusOr<std::unique_ptr<ShadowThread>> ShadowOf(const PolicyPair& policy, uint64_t seed,
                                                       const std::unique_ptr<CoreHost>& core, DecisionLog& log);
// Gives every event to all of them. `shadow` and `also` may be null.
CoreHost::Recorder RecorderOf(GpuWatch& gpus, RunTap& runs, ShadowThread* shadow, CoreHost::Recorder also);

}  // namespace penstock

#endif  // PENSTOCK_APP_SERVE_REPORTS_H_
