#include "router/telemetry/view_metrics.h"

#include <array>
#include <cassert>

namespace penstock {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

// Families without samples are left out, such as pools in tokens where every pool is in bytes.
void Keep(MetricFamily family, std::vector<MetricFamily>& families) {
  if (!family.metric.empty()) families.push_back(std::move(family));
}

struct PoolAmount {
  const Metric& bytes;
  const Metric& tokens;
  Amount PoolView::*amount;
};

constexpr std::array<PoolAmount, 7> kPoolAmounts = {{
    {MetricNamed("penstock_pool_capacity_bytes"), MetricNamed("penstock_pool_capacity_tokens"), &PoolView::capacity},
    {MetricNamed("penstock_pool_held_bytes"), MetricNamed("penstock_pool_held_tokens"), &PoolView::held},
    {MetricNamed("penstock_pool_draining_bytes"), MetricNamed("penstock_pool_draining_tokens"), &PoolView::draining},
    {MetricNamed("penstock_pool_forecast_peak_bytes"), MetricNamed("penstock_pool_forecast_peak_tokens"),
     &PoolView::forecast_peak},
    {MetricNamed("penstock_pool_reported_bytes"), MetricNamed("penstock_pool_reported_tokens"), &PoolView::reported},
    {MetricNamed("penstock_pool_foreign_bytes"), MetricNamed("penstock_pool_foreign_tokens"), &PoolView::foreign},
    {MetricNamed("penstock_pool_overdraft_bytes"), MetricNamed("penstock_pool_overdraft_tokens"), &PoolView::overdraft},
}};

void AddPoolAmounts(const CoreView& view, bool in_bytes, std::vector<MetricFamily>& families) {
  for (const PoolAmount& row : kPoolAmounts) {
    MetricFamily family = FamilyOf(in_bytes ? row.bytes : row.tokens);
    const bool is_report = row.amount == &PoolView::reported;
    for (const PoolView& pool : view.pools) {
      if (pool.in_bytes != in_bytes) continue;
      if (is_report && pool.report_age >= Duration::Infinite()) continue;
      AddSample(family, {{"pool", pool.name}}, (pool.*row.amount).AsDouble());
    }
    Keep(std::move(family), families);
  }
}

void AddPromised(const CoreView& view, const std::map<std::string, Tokens>& block_of_pool,
                 std::vector<MetricFamily>& families) {
  MetricFamily bytes = FamilyOf(MetricNamed("penstock_pool_promised_bytes"));
  MetricFamily blocks = FamilyOf(MetricNamed("penstock_pool_promised_blocks"));
  for (const PoolView& pool : view.pools) {
    if (pool.in_bytes) {
      AddSample(bytes, {{"pool", pool.name}}, pool.promised.AsDouble());
      continue;
    }
    const auto block = block_of_pool.find(pool.name);
    const Tokens per_block = block == block_of_pool.end() ? Tokens(1) : block->second;
    AddSample(blocks, {{"pool", pool.name}}, BlocksToHold(Tokens(pool.promised.value()), per_block).AsDouble());
  }
  Keep(std::move(bytes), families);
  Keep(std::move(blocks), families);
}

void AddPoolState(const CoreView& view, Duration stale_after, std::vector<MetricFamily>& families) {
  MetricFamily z = FamilyOf(MetricNamed("penstock_pool_risk_z"));
  MetricFamily age = FamilyOf(MetricNamed("penstock_pool_report_age_seconds"));
  MetricFamily stale = FamilyOf(MetricNamed("penstock_pool_report_stale"));
  MetricFamily events = FamilyOf(MetricNamed("penstock_pool_overdrafts_total"));
  MetricFamily error = FamilyOf(MetricNamed("penstock_pool_forecast_error_ratio"));
  constexpr const char* kHorizonNames[kForecastChecks] = {"1s", "10s", "60s"};
  for (const PoolView& pool : view.pools) {
    const MetricLabels labels = {{"pool", pool.name}};
    AddSample(z, labels, pool.z);
    if (pool.report_age < Duration::Infinite()) AddSample(age, labels, pool.report_age.seconds());
    AddSample(stale, labels, pool.report_age > stale_after ? 1 : 0);
    AddSample(events, labels, static_cast<double>(pool.overdrafts));
    for (size_t i = 0; i < kForecastChecks; ++i) {
      if (pool.forecast_errors[i].compared == 0) continue;
      AddSample(error, {{"horizon", kHorizonNames[i]}, {"pool", pool.name}}, pool.forecast_errors[i].error);
    }
  }
  for (MetricFamily* family : {&z, &age, &stale, &events, &error}) Keep(std::move(*family), families);
}

struct ReplicaFigure {
  const Metric& metric;
  double (*value)(const ReplicaView&);
};

constexpr std::array<ReplicaFigure, 13> kReplicaFigures = {{
    {MetricNamed("penstock_replica_up"),
     [](const ReplicaView& replica) {
       return replica.health == Health::kUp || replica.health == Health::kProbing ? 1.0 : 0.0;
     }},
    {MetricNamed("penstock_replica_running_requests"),
     [](const ReplicaView& replica) { return static_cast<double>(replica.running); }},
    {MetricNamed("penstock_replica_prefilling_requests"),
     [](const ReplicaView& replica) { return static_cast<double>(replica.prefilling); }},
    {MetricNamed("penstock_replica_backlog_tokens"),
     [](const ReplicaView& replica) { return replica.backlog.tokens.AsDouble(); }},
    {MetricNamed("penstock_replica_step_factor_ratio"), [](const ReplicaView& replica) { return replica.step_factor; }},
    {MetricNamed("penstock_replica_derate"), [](const ReplicaView& replica) { return replica.grey.derate; }},
    {MetricNamed("penstock_replica_node_derate"), [](const ReplicaView& replica) { return replica.node.derate; }},
    {MetricNamed("penstock_replica_node_closed"),
     [](const ReplicaView& replica) { return replica.node.closed ? 1.0 : 0.0; }},
    {MetricNamed("penstock_replica_storage_pressure"),
     [](const ReplicaView& replica) { return replica.node.storage_pressure; }},
    {MetricNamed("penstock_replica_stalled"),
     [](const ReplicaView& replica) { return replica.grey.stalled ? 1.0 : 0.0; }},
    {MetricNamed("penstock_replica_host_time_seconds"), [](const ReplicaView& replica) { return replica.host_time; }},
    {MetricNamed("penstock_replica_stream_tokens_per_second"),
     [](const ReplicaView& replica) { return replica.tokens_per_s; }},
    {MetricNamed("penstock_replica_preemptions_total"),
     [](const ReplicaView& replica) { return static_cast<double>(replica.preemptions); }},
}};

void AddReplicas(const CoreView& view, std::vector<MetricFamily>& families) {
  for (const ReplicaFigure& row : kReplicaFigures) {
    MetricFamily family = FamilyOf(row.metric);
    for (const ReplicaView& replica : view.replicas) {
      AddSample(family, {{"replica", replica.name}, {"model", replica.model}}, row.value(replica));
    }
    Keep(std::move(family), families);
  }
  MetricFamily grey = FamilyOf(MetricNamed("penstock_grey_failures_total"));
  for (const ReplicaView& replica : view.replicas) {
    for (size_t cause = 1; cause < kGreyCauses; ++cause) {
      if (replica.grey.events[cause] == 0) continue;
      AddSample(grey, {{"replica", replica.name}, {"cause", GreyCauseName(static_cast<GreyCause>(cause))}},
                static_cast<double>(replica.grey.events[cause]));
    }
  }
  Keep(std::move(grey), families);
  MetricFamily asleep = FamilyOf(MetricNamed("penstock_replica_asleep"));
  for (const ReplicaView& replica : view.replicas) {
    if (!replica.sleeps) continue;
    const bool given_back = replica.residency == Residency::kAsleep || replica.residency == Residency::kFallingAsleep;
    AddSample(asleep, {{"replica", replica.name}, {"model", replica.model}}, given_back ? 1 : 0);
  }
  Keep(std::move(asleep), families);
}

struct NodePart {
  const char* resource;
  double NodeResidual::*left;
};

constexpr std::array<NodePart, 4> kNodeParts = {{
    {"memory", &NodeResidual::memory},
    {"compute", &NodeResidual::compute},
    {"storage", &NodeResidual::storage},
    {"io_cpu", &NodeResidual::io_cpu},
}};

void AddNodes(const CoreView& view, std::vector<MetricFamily>& families) {
  MetricFamily left = FamilyOf(MetricNamed("penstock_node_left_ratio"));
  MetricFamily requests = FamilyOf(MetricNamed("penstock_node_storage_requests"));
  for (const NodeView& node : view.nodes) {
    for (const NodePart& part : kNodeParts) {
      AddSample(left, {{"node", node.name}, {"resource", part.resource}}, node.left.*part.left);
    }
    AddSample(requests, {{"node", node.name}}, static_cast<double>(node.storage_requests));
  }
  Keep(std::move(left), families);
  Keep(std::move(requests), families);
}

void AddHosts(const CoreView& view, std::vector<MetricFamily>& families) {
  MetricFamily bound = FamilyOf(MetricNamed("penstock_node_sleep_memory_bytes"));
  MetricFamily used = FamilyOf(MetricNamed("penstock_node_sleep_memory_used_bytes"));
  MetricFamily lacking = FamilyOf(MetricNamed("penstock_node_sleep_memory_lacking"));
  for (const HostView& host : view.hosts) {
    AddSample(bound, {{"node", host.name}}, host.sleep_memory.AsDouble());
    AddSample(used, {{"node", host.name}}, host.used.AsDouble());
    AddSample(lacking, {{"node", host.name}}, host.lacking);
  }
  for (MetricFamily* family : {&bound, &used, &lacking}) Keep(std::move(*family), families);
}

struct ElasticFigure {
  const Metric& metric;
  double (*value)(const ElasticView&);
};

constexpr std::array<ElasticFigure, 6> kElasticFigures = {{
    {MetricNamed("penstock_elastic_limit_bytes"), [](const ElasticView& view) { return view.limit.AsDouble(); }},
    {MetricNamed("penstock_elastic_used_bytes"), [](const ElasticView& view) { return view.used.AsDouble(); }},
    {MetricNamed("penstock_elastic_preallocated_bytes"),
     [](const ElasticView& view) { return view.preallocated.AsDouble(); }},
    {MetricNamed("penstock_elastic_age_seconds"), [](const ElasticView& view) { return view.age.seconds(); }},
    {MetricNamed("penstock_elastic_orders_total"),
     [](const ElasticView& view) { return static_cast<double>(view.orders); }},
    {MetricNamed("penstock_elastic_orders_failed_total"),
     [](const ElasticView& view) { return static_cast<double>(view.orders_failed); }},
}};

void AddElastic(const CoreView& view, std::vector<MetricFamily>& families) {
  for (const ElasticFigure& row : kElasticFigures) {
    MetricFamily family = FamilyOf(row.metric);
    for (const ReplicaView& replica : view.replicas) {
      if (!replica.elastic.known) continue;
      AddSample(family, {{"replica", replica.name}, {"model", replica.model}}, row.value(replica.elastic));
    }
    Keep(std::move(family), families);
  }
}

void AddQueue(const CoreView& view, std::vector<MetricFamily>& families) {
  MetricFamily waiting = FamilyOf(MetricNamed("penstock_queue_requests"));
  MetricFamily parked = FamilyOf(MetricNamed("penstock_parked_streams"));
  MetricFamily oldest = FamilyOf(MetricNamed("penstock_queue_oldest_wait_seconds"));
  for (const LaneView& lane : view.lanes) {
    const MetricLabels labels = {{"model", lane.model}, {"class", lane.service_class}};
    AddSample(waiting, labels, static_cast<double>(lane.waiting));
    AddSample(parked, labels, static_cast<double>(lane.parked));
    AddSample(oldest, labels, lane.oldest_wait.seconds());
  }
  MetricFamily all = FamilyOf(MetricNamed("penstock_queued_requests"));
  MetricFamily bytes = FamilyOf(MetricNamed("penstock_queued_bytes"));
  AddSample(all, {}, static_cast<double>(view.queued_requests));
  AddSample(bytes, {}, view.queued_bytes.AsDouble());
  for (MetricFamily* family : {&waiting, &parked, &oldest, &all, &bytes}) Keep(std::move(*family), families);
}

void AddCounters(const CoreCounters& counters, std::vector<MetricFamily>& families) {
  MetricFamily observed = FamilyOf(MetricNamed("penstock_output_forecasts_total"));
  AddSample(observed, {}, static_cast<double>(counters.outputs_observed));
  MetricFamily covered = FamilyOf(MetricNamed("penstock_output_forecasts_covered_total"));
  AddSample(covered, {{"level", "p50"}}, static_cast<double>(counters.outputs_below_p50));
  AddSample(covered, {{"level", "p90"}}, static_cast<double>(counters.outputs_below_p90));
  AddSample(covered, {{"level", "p99"}}, static_cast<double>(counters.outputs_below_p99));
  MetricFamily pinball = FamilyOf(MetricNamed("penstock_output_forecast_pinball_tokens_total"));
  AddSample(pinball, {{"level", "p50"}}, counters.pinball_p50);
  AddSample(pinball, {{"level", "p90"}}, counters.pinball_p90);
  AddSample(pinball, {{"level", "p99"}}, counters.pinball_p99);
  MetricFamily expected = FamilyOf(MetricNamed("penstock_prefix_expected_tokens_total"));
  AddSample(expected, {}, static_cast<double>(counters.cached_expected));
  MetricFamily found = FamilyOf(MetricNamed("penstock_prefix_found_tokens_total"));
  AddSample(found, {}, static_cast<double>(counters.cached_found));
  MetricFamily hosted = FamilyOf(MetricNamed("penstock_host_cache_expected_tokens_total"));
  AddSample(hosted, {}, static_cast<double>(counters.host_expected));
  MetricFamily loaded = FamilyOf(MetricNamed("penstock_host_cache_found_tokens_total"));
  AddSample(loaded, {}, static_cast<double>(counters.host_found));
  MetricFamily parked = FamilyOf(MetricNamed("penstock_parked_total"));
  AddSample(parked, {}, static_cast<double>(counters.parked));
  MetricFamily evicted = FamilyOf(MetricNamed("penstock_evicted_total"));
  AddSample(evicted, {}, static_cast<double>(counters.evicted));
  MetricFamily aborts = FamilyOf(MetricNamed("penstock_aborts_total"));
  AddSample(aborts, {}, static_cast<double>(counters.aborts));
  MetricFamily returns = FamilyOf(MetricNamed("penstock_returns_total"));
  AddSample(returns, {}, static_cast<double>(counters.requeues));
  MetricFamily hinted = FamilyOf(MetricNamed("penstock_session_hints_total"));
  AddSample(hinted, {}, static_cast<double>(counters.hinted));
  MetricFamily drifts = FamilyOf(MetricNamed("penstock_book_drifts_total"));
  AddSample(drifts, {}, static_cast<double>(counters.book_drifts));
  for (MetricFamily* family : {&observed, &covered, &pinball, &expected, &found, &hosted, &loaded, &parked, &evicted,
                               &aborts, &returns, &hinted, &drifts}) {
    Keep(std::move(*family), families);
  }
}

}  // namespace

MetricFamily FamilyOf(const Metric& metric) {
  assert(metric.type != MetricType::kHistogram);
  MetricFamily family;
  family.name = std::string(metric.name);
  family.help = std::string(metric.help);
  family.type = metric.type == MetricType::kCounter ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge;
  return family;
}

MetricFamily& AddSample(MetricFamily& family, const MetricLabels& labels, double value) {
  ClientMetric sample;
  for (const auto& [name, text] : labels) sample.label.push_back({name, text});
  (family.type == prometheus::MetricType::Counter ? sample.counter.value : sample.gauge.value) = value;
  family.metric.push_back(std::move(sample));
  return family;
}

std::vector<MetricFamily> ViewMetrics(const CoreView& view, const std::map<std::string, Tokens>& block_of_pool,
                                      Duration stale_after) {
  std::vector<MetricFamily> families;
  AddPoolAmounts(view, /*in_bytes=*/true, families);
  AddPoolAmounts(view, /*in_bytes=*/false, families);
  AddPromised(view, block_of_pool, families);
  AddPoolState(view, stale_after, families);
  AddReplicas(view, families);
  AddNodes(view, families);
  AddHosts(view, families);
  AddElastic(view, families);
  AddQueue(view, families);
  AddCounters(view.counters, families);
  return families;
}

}  // namespace penstock
