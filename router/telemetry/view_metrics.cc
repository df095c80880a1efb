#include "router/telemetry/view_metrics.h"

#include <array>
#include <functional>

namespace penstock {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

MetricFamily Family(std::string name, std::string help, MetricType type = MetricType::Gauge) {
  MetricFamily family;
  family.name = std::move(name);
  family.help = std::move(help);
  family.type = type;
  return family;
}

// Families without samples are left out: there is nothing to say about pools in tokens when there are none.
void Keep(MetricFamily family, std::vector<MetricFamily>& families) {
  if (!family.metric.empty()) families.push_back(std::move(family));
}

struct PoolAmount {
  const char* name;
  const char* help;
  Amount PoolView::*amount;
};

constexpr std::array<PoolAmount, 7> kPoolAmounts = {{
    {"capacity", "KV memory of the pool, configured or discovered", &PoolView::capacity},
    {"held", "KV memory that live requests hold by the ledger, prompts on their way included", &PoolView::held},
    {"draining", "KV memory of aborted requests that is not yet known to be free", &PoolView::draining},
    {"forecast_peak", "Forecast bound of the pool's use at its worst horizon (mean + z sigma)",
     &PoolView::forecast_peak},
    {"reported", "KV memory in use by the engine's own last report", &PoolView::reported},
    {"foreign", "KV memory used by others than this router", &PoolView::foreign},
    {"overdraft", "KV memory used by own requests beyond what their leases hold", &PoolView::overdraft},
}};

void AddPoolAmounts(const CoreView& view, bool in_bytes, std::vector<MetricFamily>& families) {
  const std::string unit = in_bytes ? "bytes" : "tokens";
  for (const PoolAmount& row : kPoolAmounts) {
    MetricFamily family = Family(std::string("penstock_pool_") + row.name + "_" + unit, row.help);
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
  const std::string help = "Expected final footprint of all live requests of the pool; zero when nothing runs";
  MetricFamily bytes = Family("penstock_pool_promised_bytes", help);
  MetricFamily blocks = Family("penstock_pool_promised_blocks", help + ", in the engine's blocks");
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
  MetricFamily z = Family("penstock_pool_risk_z", "Standard deviations of head room that admission keeps");
  MetricFamily age = Family("penstock_pool_report_age_seconds", "Age of the newest engine report of the pool");
  MetricFamily stale =
      Family("penstock_pool_report_stale", "1 when the pool has no fresh engine report: the ledger goes on by itself");
  MetricFamily events = Family("penstock_pool_overdrafts_total",
                               "Times the engine was seen to use more than its leases hold", MetricType::Counter);
  MetricFamily error = Family("penstock_pool_forecast_error_ratio",
                              "Forecast of one horizon ago minus what the same requests hold now, over capacity");
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
  const char* name;
  const char* help;
  MetricType type;
  double (*value)(const ReplicaView&);
};

const std::array<ReplicaFigure, 7> kReplicaFigures = {{
    {"up", "1 when the replica takes requests", MetricType::Gauge,
     [](const ReplicaView& replica) {
       return replica.health == Health::kUp || replica.health == Health::kProbing ? 1.0 : 0.0;
     }},
    {"running_requests", "Requests forwarded to the replica and not ended", MetricType::Gauge,
     [](const ReplicaView& replica) { return static_cast<double>(replica.running); }},
    {"prefilling_requests", "Of those, requests without a first token", MetricType::Gauge,
     [](const ReplicaView& replica) { return static_cast<double>(replica.prefilling); }},
    {"backlog_tokens", "Prompt tokens forwarded and not yet computed, by forecast", MetricType::Gauge,
     [](const ReplicaView& replica) { return replica.backlog.AsDouble(); }},
    {"step_factor_ratio", "Learned over prior step time", MetricType::Gauge,
     [](const ReplicaView& replica) { return replica.step_factor; }},
    {"stream_tokens_per_second", "Forecast decode rate of one stream", MetricType::Gauge,
     [](const ReplicaView& replica) { return replica.tokens_per_s; }},
    {"preemptions_total", "Preemptions that the engine reported", MetricType::Counter,
     [](const ReplicaView& replica) { return static_cast<double>(replica.preemptions); }},
}};

void AddReplicas(const CoreView& view, std::vector<MetricFamily>& families) {
  for (const ReplicaFigure& row : kReplicaFigures) {
    MetricFamily family = Family(std::string("penstock_replica_") + row.name, row.help, row.type);
    for (const ReplicaView& replica : view.replicas) {
      AddSample(family, {{"replica", replica.name}, {"model", replica.model}}, row.value(replica));
    }
    Keep(std::move(family), families);
  }
}

void AddQueue(const CoreView& view, std::vector<MetricFamily>& families) {
  MetricFamily waiting = Family("penstock_queue_requests", "Requests that wait, by lane");
  MetricFamily oldest = Family("penstock_queue_oldest_wait_seconds", "Wait of the longest waiting request of the lane");
  for (const LaneView& lane : view.lanes) {
    const MetricLabels labels = {{"model", lane.model}, {"class", lane.service_class}};
    AddSample(waiting, labels, static_cast<double>(lane.waiting));
    AddSample(oldest, labels, lane.oldest_wait.seconds());
  }
  MetricFamily all = Family("penstock_queued_requests", "Requests that wait in all lanes");
  MetricFamily bytes = Family("penstock_queued_bytes", "Bytes of the bodies of requests that wait");
  AddSample(all, {}, static_cast<double>(view.queued_requests));
  AddSample(bytes, {}, view.queued_bytes.AsDouble());
  for (MetricFamily* family : {&waiting, &oldest, &all, &bytes}) Keep(std::move(*family), families);
}

void AddCounters(const CoreCounters& counters, std::vector<MetricFamily>& families) {
  MetricFamily observed =
      Family("penstock_output_forecasts_total", "Outputs that were compared with their forecast", MetricType::Counter);
  AddSample(observed, {}, static_cast<double>(counters.outputs_observed));
  MetricFamily covered = Family("penstock_output_forecasts_covered_total",
                                "Outputs at or below that level of their forecast", MetricType::Counter);
  AddSample(covered, {{"level", "p50"}}, static_cast<double>(counters.outputs_below_p50));
  AddSample(covered, {{"level", "p90"}}, static_cast<double>(counters.outputs_below_p90));
  AddSample(covered, {{"level", "p99"}}, static_cast<double>(counters.outputs_below_p99));
  MetricFamily pinball = Family("penstock_output_forecast_pinball_tokens_total",
                                "Sum of the pinball loss of output forecasts", MetricType::Counter);
  AddSample(pinball, {{"level", "p50"}}, counters.pinball_p50);
  AddSample(pinball, {{"level", "p90"}}, counters.pinball_p90);
  AddSample(pinball, {{"level", "p99"}}, counters.pinball_p99);
  MetricFamily aborts =
      Family("penstock_aborts_total", "Running requests taken back for the sake of the others", MetricType::Counter);
  AddSample(aborts, {}, static_cast<double>(counters.aborts));
  MetricFamily returns = Family("penstock_returns_total",
                                "Forwarded requests that waited again (push-back, engine lost)", MetricType::Counter);
  AddSample(returns, {}, static_cast<double>(counters.requeues));
  for (MetricFamily* family : {&observed, &covered, &pinball, &aborts, &returns}) Keep(std::move(*family), families);
}

}  // namespace

MetricFamily& AddSample(MetricFamily& family, const MetricLabels& labels, double value) {
  ClientMetric sample;
  for (const auto& [name, text] : labels) sample.label.push_back({name, text});
  (family.type == MetricType::Counter ? sample.counter.value : sample.gauge.value) = value;
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
  AddQueue(view, families);
  AddCounters(view.counters, families);
  return families;
}

}  // namespace penstock
