#include "router/telemetry/engine_metrics.h"

#include "router/telemetry/registry/metric_list.h"

namespace penstock {
namespace {

// From the copy of weights out of the memory of the host to the start of an engine with a large model.
const MetricRegistry::Buckets kWakeBuckets = {0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640};

}  // namespace

void EngineMetrics::StartAtZero(const ReplicaSpec& replica) {
  const auto lock = names_.Reading();
  for (const absl::string_view kind : kEngineErrorLabels) {
    registry_.Counter(MetricNamed("penstock_engine_errors_total"),
                      {{"replica", names_.ReplicaLabel(replica.name)}, {"kind", std::string(kind)}});
  }
  registry_.Counter(MetricNamed("penstock_false_usage_total"), {{"replica", names_.ReplicaLabel(replica.name)}});
  if (replica.role == EngineRole::kPrefill) handovers_.StartAtZero(names_.ReplicaLabel(replica.name));
  for (const absl::string_view result : kSleepResultLabels) {
    if (replica.adapters.on_demand.empty()) break;
    registry_.Counter(MetricNamed("penstock_adapter_loads_total"),
                      {{"replica", names_.ReplicaLabel(replica.name)}, {"result", std::string(result)}});
  }
  if (replica.sleep) SleepsAtZero(replica.name);
}

void EngineMetrics::StartSleepsAtZero(absl::string_view replica) {
  const auto lock = names_.Reading();
  SleepsAtZero(replica);
}

void EngineMetrics::SleepsAtZero(absl::string_view replica) {
  const std::string& label = names_.ReplicaLabel(replica);
  registry_.Counter(MetricNamed("penstock_false_sleeps_total"), {{"replica", label}});
  for (const absl::string_view result : kSleepResultLabels) {
    const MetricRegistry::Labels labels = {{"replica", label}, {"result", std::string(result)}};
    registry_.Counter(MetricNamed("penstock_sleeps_total"), labels);
    registry_.Counter(MetricNamed("penstock_wakes_total"), labels);
  }
}

void EngineMetrics::OnError(absl::string_view replica, EngineErrorKind kind) {
  const auto lock = names_.Reading();
  registry_
      .Counter(MetricNamed("penstock_engine_errors_total"),
               {{"replica", names_.ReplicaLabel(replica)}, {"kind", std::string(LabelOf(kind))}})
      .Increment();
}

void EngineMetrics::OnFalseUsage(absl::string_view replica) {
  const auto lock = names_.Reading();
  registry_.Counter(MetricNamed("penstock_false_usage_total"), {{"replica", names_.ReplicaLabel(replica)}}).Increment();
}

void EngineMetrics::OnPoll(absl::string_view replica, bool ok) {
  const auto lock = names_.Reading();
  registry_
      .Counter(MetricNamed("penstock_engine_polls_total"),
               {{"replica", names_.ReplicaLabel(replica)}, {"result", ok ? "ok" : "failed"}})
      .Increment();
}

void EngineMetrics::OnReread(absl::string_view replica, Reread result) {
  const auto lock = names_.Reading();
  registry_
      .Counter(MetricNamed("penstock_engine_rereads_total"),
               {{"replica", names_.ReplicaLabel(replica)}, {"result", std::string(LabelOf(result))}})
      .Increment();
}

void EngineMetrics::OnSleepEnd(absl::string_view replica, SleepResult result) {
  const auto lock = names_.Reading();
  registry_
      .Counter(MetricNamed("penstock_sleeps_total"),
               {{"replica", names_.ReplicaLabel(replica)}, {"result", std::string(LabelOf(result))}})
      .Increment();
}

void EngineMetrics::OnAdapterLoad(absl::string_view replica, SleepResult result, Duration took) {
  const auto lock = names_.Reading();
  const std::string label = names_.ReplicaLabel(replica);
  registry_
      .Counter(MetricNamed("penstock_adapter_loads_total"),
               {{"replica", label}, {"result", std::string(LabelOf(result))}})
      .Increment();
  if (result != SleepResult::kOk) return;
  registry_.Histogram(MetricNamed("penstock_adapter_load_seconds"), {{"replica", label}}, kWakeBuckets)
      .Observe(took.seconds());
}

void EngineMetrics::OnWakeEnd(absl::string_view replica, SleepResult result, Duration took) {
  const auto lock = names_.Reading();
  const std::string label = names_.ReplicaLabel(replica);
  registry_.Counter(MetricNamed("penstock_wakes_total"), {{"replica", label}, {"result", std::string(LabelOf(result))}})
      .Increment();
  if (result != SleepResult::kOk) return;
  registry_.Histogram(MetricNamed("penstock_wake_seconds"), {{"replica", label}}, kWakeBuckets).Observe(took.seconds());
}

void EngineMetrics::OnFalseSleep(absl::string_view replica) {
  const auto lock = names_.Reading();
  registry_.Counter(MetricNamed("penstock_false_sleeps_total"), {{"replica", names_.ReplicaLabel(replica)}})
      .Increment();
}

void EngineMetrics::OnSegment(absl::string_view replica, bool write, SegmentResult result) {
  const auto lock = names_.Reading();
  registry_
      .Counter(write ? MetricNamed("penstock_elastic_writes_total") : MetricNamed("penstock_elastic_reads_total"),
               {{"replica", names_.ReplicaLabel(replica)}, {"result", std::string(LabelOf(result))}})
      .Increment();
}

void EngineMetrics::OnNodeLeft(const std::string& node, absl::string_view exporter) {
  registry_.Retire([&](const MetricRegistry::Labels& labels) {
    const auto of_node = labels.find("node");
    const auto of_exporter = labels.find("exporter");
    return of_node != labels.end() && of_node->second == node && of_exporter != labels.end() &&
           of_exporter->second == exporter;
  });
}

void EngineMetrics::OnNodeScrape(const std::string& node, absl::string_view exporter, NodeScrape result, bool stale) {
  registry_
      .Counter(MetricNamed("penstock_node_scrapes_total"),
               {{"node", node}, {"exporter", std::string(exporter)}, {"result", std::string(LabelOf(result))}})
      .Increment();
  registry_.Gauge(MetricNamed("penstock_node_stale"), {{"node", node}, {"exporter", std::string(exporter)}})
      .Set(stale ? 1 : 0);
}

}  // namespace penstock
