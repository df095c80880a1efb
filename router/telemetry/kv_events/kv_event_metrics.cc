#include "router/telemetry/kv_events/kv_event_metrics.h"

namespace penstock {

void KvEventMetrics::Add(const std::string& replica, const FollowerCounts& before, const FollowerCounts& now) {
  struct Figure {
    const Metric* metric;
    const char* label;  // Beside the replica; null: none.
    const char* value;
    int64_t FollowerCounts::*count;
  };
  static constexpr Figure kFigures[] = {
      {&MetricNamed("penstock_kv_event_batches_total"), "result", "taken", &FollowerCounts::batches},
      {&MetricNamed("penstock_kv_event_batches_total"), "result", "garbage", &FollowerCounts::garbage},
      {&MetricNamed("penstock_kv_event_batches_total"), "result", "missed", &FollowerCounts::missed},
      {&MetricNamed("penstock_kv_events_total"), "kind", "stored", &FollowerCounts::stored},
      {&MetricNamed("penstock_kv_events_total"), "kind", "removed", &FollowerCounts::removed},
      {&MetricNamed("penstock_kv_events_total"), "kind", "cleared", &FollowerCounts::cleared},
      {&MetricNamed("penstock_kv_events_total"), "kind", "ignored", &FollowerCounts::ignored},
      {&MetricNamed("penstock_kv_event_resyncs_total"), "cause", "replay", &FollowerCounts::replays},
      {&MetricNamed("penstock_kv_event_resyncs_total"), "cause", "loss", &FollowerCounts::losses},
      {&MetricNamed("penstock_kv_event_resyncs_total"), "cause", "restart", &FollowerCounts::restarts},
      {&MetricNamed("penstock_kv_event_matches_total"), "result", "named", &FollowerCounts::named},
      {&MetricNamed("penstock_kv_event_matches_total"), "result", "by_length", &FollowerCounts::by_length},
      {&MetricNamed("penstock_kv_event_matches_total"), "result", "ambiguous", &FollowerCounts::ambiguous},
      {&MetricNamed("penstock_kv_event_matches_total"), "result", "nothing_new", &FollowerCounts::unmatched},
      {&MetricNamed("penstock_kv_event_unknown_chains_total"), nullptr, "", &FollowerCounts::unowned},
      {&MetricNamed("penstock_kv_event_conflicts_total"), nullptr, "", &FollowerCounts::conflicts},
  };
  const auto lock = names_.Reading();
  if (names_.replicas().Find(replica) == LabelNames::kOther) return;
  for (const Figure& figure : kFigures) {
    MetricRegistry::Labels labels = {{"replica", replica}};
    if (figure.label != nullptr) labels[figure.label] = figure.value;
    registry_.Counter(*figure.metric, labels).Increment(static_cast<double>(now.*figure.count - before.*figure.count));
  }
  registry_.Gauge(MetricNamed("penstock_kv_event_confirmed_blocks"), {{"replica", replica}})
      .Set(static_cast<double>(now.confirmed));
  registry_.Gauge(MetricNamed("penstock_kv_event_followed"), {{"replica", replica}}).Set(now.sure ? 1 : 0);
}

void KvEventMetrics::Leave(const std::string& replica) {
  const auto lock = names_.Reading();
  if (names_.replicas().Find(replica) == LabelNames::kOther) return;
  registry_.Gauge(MetricNamed("penstock_kv_event_confirmed_blocks"), {{"replica", replica}}).Set(0);
  registry_.Gauge(MetricNamed("penstock_kv_event_followed"), {{"replica", replica}}).Set(0);
}

void KvEventMetrics::OnMissedRequests(int64_t requests) {
  registry_.Counter(MetricNamed("penstock_kv_event_missed_requests_total")).Increment(static_cast<double>(requests));
}

}  // namespace penstock
