#include "router/http/pages/metrics_page.h"

#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "router/fleet/outside_pools.h"
#include "router/jobs/worker/job_thread.h"
#include "router/page/page_feed.h"
#include "router/telemetry/edge_metrics.h"
#include "router/telemetry/shadow_metrics.h"

namespace penstock {
namespace {

double Ratio(int64_t used, int64_t limit) {
  return static_cast<double>(used) / static_cast<double>(std::max<int64_t>(1, limit));
}

}  // namespace

std::string MetricsPage(const Edge& edge, const LimitsConfig& limits, const FleetBook* book) {
  const CoreView view = edge.core->View();
  Telemetry& telemetry = *edge.telemetry;
  telemetry.SetFill(Bounded::kConnections,
                    Ratio(edge.connections.load(std::memory_order_relaxed), limits.max_connections));
  telemetry.SetFill(Bounded::kQueuedRequests, Ratio(view.queued_requests, limits.max_queued_requests));
  telemetry.SetFill(Bounded::kQueuedBytes, Ratio(view.queued_bytes.value(), limits.max_queued_bytes.value()));
  telemetry.SetFill(Bounded::kBodyMemory, Ratio(edge.bodies.used().value(), limits.max_body_memory.value()));
  telemetry.SetFill(Bounded::kAnswerMemory, Ratio(edge.answers.used().value(), limits.max_answer_memory.value()));
  telemetry.SetFill(Bounded::kDeliveredText,
                    Ratio(edge.delivered_text.used().value(), limits.max_kept_text_total.value()));
  if (edge.jobs != nullptr) telemetry.store().SetUse(edge.jobs->use());
  GpuReport gpus = edge.gpus != nullptr ? edge.gpus->Report(Now()) : GpuReport();
  if (book != nullptr) AddMemoryOutsidePools(*book, gpus);
  std::string text = telemetry.Serialise(view, edge.log != nullptr ? edge.log->dropped() : 0, gpus);
  text += LoopMetricsText(edge.turns, Now());
  const std::optional<ShadowReport> shadow = edge.page != nullptr ? edge.page->ShadowNow() : std::nullopt;
  if (shadow) text += ShadowMetricsText(*shadow);
  return text;
}

}  // namespace penstock
