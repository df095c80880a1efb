#include <algorithm>
#include <map>
#include <utility>

#include "config/values/capacity.h"
#include "config/values/policy_pair.h"
#include "router/page/gpu_time_json.h"
#include "router/page/json_writer.h"
#include "router/page/page_json.h"

namespace penstock {
namespace {

absl::string_view HealthLabel(Health health) {
  switch (health) {
    case Health::kUp:
      return "up";
    case Health::kProbing:
      return "probing";
    case Health::kDraining:
      return "draining";
    case Health::kDown:
      return "down";
  }
  return "down";
}

void PutRouter(const PageFacts& facts, JsonWriter& json) {
  const Config& config = facts.fleet->config();
  json.Begin("router", '{')
      .Put("version", facts.version)
      .Put("policy", PolicyPairOf(config.policy).decide)
      .Put("uptime_s", std::round(facts.uptime))
      .Put("draining", facts.draining)
      .Put("requests", facts.requests)
      .Put("connections", facts.connections)
      .Put("viewers", facts.viewers)
      .Put("queued_requests", facts.view.queued_requests)
      .Put("most_queued_requests", config.limits.max_queued_requests)
      .Put("queued_bytes", facts.view.queued_bytes)
      .Put("requires_key", !config.tenants.empty())
      .Put("listen", config.listen)
      .Put("admin_apart", !config.admin_listen.empty())
      .End('}');
}

void PutConfiguration(const PageFacts& facts, JsonWriter& json) {
  const ConfigurationState::Facts& state = facts.configuration;
  json.Begin("configuration", '{')
      .Put("file", facts.fleet->config().file, 1024)
      .Put("loaded_at", Milliseconds(state.loaded_at))
      .Put("reloads", state.reloads)
      .Put("reloads_refused", state.refused)
      .Put("last_error", state.error, 4096)
      .Put("last_error_at", Milliseconds(state.error_at))
      .End('}');
}

void PutTokens(const TokenHistory& tokens, JsonWriter& json) {
  const auto rates = [&](const char* name, double TokenRates::*rate) {
    json.Begin(name, '[');
    for (const TokenRates& sample : tokens.rates()) json.Add(std::round(sample.*rate));
    json.End(']');
  };
  json.Begin("tokens", '{')
      .Put("active", tokens.totals().active)
      .Put("late", tokens.totals().late)
      .Put("wasted", tokens.totals().wasted)
      .Put("step_s", 1);
  rates("active_per_s", &TokenRates::active);
  rates("late_per_s", &TokenRates::late);
  rates("wasted_per_s", &TokenRates::wasted);
  json.End('}');
}

// The positions of replicas that have not left, by GPU.
std::map<uint32_t, std::vector<size_t>> ReplicasOfGpus(const Fleet& fleet) {
  std::map<uint32_t, std::vector<size_t>> by_gpu;
  for (size_t i = 0; i < fleet.replicas.size(); ++i) {
    if (fleet.replicas[i].removed) continue;
    for (const uint32_t gpu : fleet.replicas[i].gpus) by_gpu[gpu].push_back(i);
  }
  return by_gpu;
}

// A replica has one pool per GPU, or one on a GPU that others share.
std::string PoolOn(const Fleet& fleet, const ReplicaSpec& replica, uint32_t gpu) {
  for (size_t i = 0; i < replica.pools.size() && i < replica.gpus.size(); ++i) {
    if (replica.gpus[i] == gpu) return fleet.pools[replica.pools[i].pool.value()].name;
  }
  return "";
}

void PutPart(const PageFacts& facts, size_t position, uint32_t gpu, JsonWriter& json) {
  const FleetBook& book = facts.fleet->book;
  const ReplicaSpec& replica = book.fleet().replicas[position];
  const ReplicaId id(static_cast<uint32_t>(position));
  const std::string model =
      replica.models.empty() ? std::string() : book.fleet().models[replica.models.front().value()].name;
  json.Begin('{')
      .Put("replica", replica.name)
      .Put("model", model)
      .Put("weights_bytes", WeightsPerGpu(book.config(), book.replica_config(id), model))
      .Put("pool", PoolOn(book.fleet(), replica, gpu))
      .End('}');
}

void PutGpus(const PageFacts& facts, JsonWriter& json) {
  const FleetBook& book = facts.fleet->book;
  json.Begin("gpus", '[');
  size_t listed = 0;
  for (const auto& [gpu, replicas] : ReplicasOfGpus(book.fleet())) {
    if (++listed > kMostListed) break;
    const std::string& name = book.fleet().gpus[gpu].name;
    const GpuConfig* known = FindGpu(book.config(), name);
    json.Begin('{').Put("id", name).Put("kind", known != nullptr ? known->kind.name : std::string());
    json.Put("memory_bytes", known != nullptr ? std::optional(known->kind.memory) : std::nullopt);
    json.Begin("parts", '[');
    for (const size_t replica : replicas) PutPart(facts, replica, gpu, json);
    json.End(']');
    // The report may be of another moment than the fleet.
    const bool counted = gpu < facts.gpus.gpus.size() && facts.gpus.gpus[gpu].name == name;
    json.Put("outside_pools_bytes", counted ? facts.gpus.gpus[gpu].outside_pools : std::nullopt);
    PutStates("seconds", counted ? facts.gpus.gpus[gpu].time : GpuTime(), json);
    json.End('}');
  }
  json.End(']');
}

// The place of the pool in the report; null: the report is of another moment.
const StrandedMemory* StrandedOf(const PageFacts& facts, absl::string_view pool) {
  for (const StrandedMemory& each : facts.gpus.pools) {
    if (each.name == pool) return &each;
  }
  return nullptr;
}

void PutPool(const PageFacts& facts, const PoolView& pool, JsonWriter& json) {
  const StrandedMemory* stranded = StrandedOf(facts, pool.name);
  const bool tracked = pool.cohort.age < Duration::Infinite();
  const bool reported = pool.report_age < Duration::Infinite();
  json.Begin('{')
      .Put("name", pool.name)
      .Put("unit", pool.in_bytes ? "bytes" : "tokens")
      .Put("capacity", pool.capacity)
      .Put("held", pool.held)
      .Put("promised", pool.promised)
      .Put("draining", pool.draining)
      .Put("foreign", pool.foreign)
      .Put("lent", pool.lent)
      .Put("forecast_peak", pool.forecast_peak)
      .Put("stranded", std::llround(stranded != nullptr ? stranded->now : 0))
      .Put("stranded_seconds", std::llround(stranded != nullptr ? stranded->amount_seconds : 0))
      .Put("memory_wait_s", Milliseconds(stranded != nullptr ? stranded->seconds : 0))
      .Put("report_age_s", reported ? std::optional(pool.report_age.seconds()) : std::nullopt)
      .Put("cohort_age_s", tracked ? std::optional(Milliseconds(pool.cohort.age.seconds())) : std::nullopt)
      .Put("cohort_held", pool.cohort.held)
      .Begin("fan", '[');
  for (size_t i = 0; i < kFanSeconds.size(); ++i) {
    json.Begin('{')
        .Put("in_s", kFanSeconds[i])
        .Put("mean", std::llround(pool.fan[i].mean))
        .Put("sigma", std::llround(pool.fan[i].sigma))
        .End('}');
  }
  json.End(']').End('}');
}

void PutReplica(const ReplicaView& replica, JsonWriter& json) {
  const bool paced = replica.tokens_per_s > 0;
  const double step = paced ? 1 / replica.tokens_per_s : 0;
  // Replicas that share a GPU in turn wait for each other.
  const double shared = 1 + replica.busy_neighbours;
  const double pace = shared / std::max(1e-9, replica.step_factor);
  json.Begin('{')
      .Put("name", replica.name)
      .Put("model", replica.model)
      .Put("role", LabelOf(replica.role))
      .Put("health", HealthLabel(replica.health))
      .Put("residency", LabelOf(replica.residency))
      .Put("sleeps", replica.sleeps)
      .Put("running", replica.running)
      .Put("prefilling", replica.prefilling)
      .Put("observed_step_s", paced ? std::optional(step) : std::nullopt)
      .Put("expected_step_s", paced ? std::optional(step * pace) : std::nullopt)
      .Put("busy_neighbours", replica.busy_neighbours)
      .Put("pace", pace)
      .Put("tokens_per_s", replica.tokens_per_s)
      .Put("derate", replica.grey.derate)
      .Put("stalled", replica.grey.stalled)
      .Put("grey_cause", GreyCauseName(replica.grey.cause))
      .Put("node_derate", replica.node.derate)
      .Put("node_closed", replica.node.closed)
      .Put("storage_pressure", replica.node.storage_pressure)
      .Put("preemptions", replica.preemptions)
      .End('}');
}

void PutNode(const NodeView& node, JsonWriter& json) {
  const auto part = [](double left) { return std::round(left * 1000) / 1000; };
  json.Begin('{')
      .Put("name", node.name)
      .Put("replicas", node.replicas)
      .Put("storage_requests", node.storage_requests)
      .Begin("left", '{')
      .Put("memory", part(node.left.memory))
      .Put("compute", part(node.left.compute))
      .Put("storage", part(node.left.storage))
      .Put("io_cpu", part(node.left.io_cpu))
      .End('}')
      .End('}');
}

void PutHost(const HostView& host, JsonWriter& json) {
  json.Begin('{')
      .Put("name", host.name)
      .Put("sleep_memory", host.sleep_memory.value())
      .Put("sleep_memory_used", host.used.value())
      .Put("lacking", host.lacking)
      .End('}');
}

// The models that clients may name, and the replicas that would take a request now.
void PutModels(const PageFacts& facts, JsonWriter& json) {
  std::map<absl::string_view, int64_t> up;
  for (const ReplicaView& replica : facts.view.replicas) {
    up[replica.model] += replica.health == Health::kUp && replica.residency == Residency::kAwake ? 1 : 0;
  }
  json.Begin("models", '[');
  size_t listed = 0;
  for (const auto& [model, replicas] : up) {
    if (++listed > kMostListed || model.empty()) continue;
    json.Begin('{').Put("name", model, 1024).Put("replicas_up", replicas).End('}');
  }
  json.End(']');
}

void PutComparison(const std::vector<ComparisonRow>& rows, JsonWriter& json) {
  json.Begin("comparison", '[');
  for (const ComparisonRow& row : rows) {
    json.Begin('{')
        .Put("policy", row.policy)
        .Put("requests", row.requests)
        .Put("on_time", row.on_time)
        .Put("refused", row.refused)
        .Put("failed", row.failed)
        .Put("active_per_s", row.active_per_s)
        .Put("late_per_s", row.late_per_s)
        .Put("ttft_p50_s", row.ttft_p50)
        .Put("ttft_p99_s", row.ttft_p99)
        .End('}');
  }
  json.End(']');
}

}  // namespace

std::string FleetJson(const PageFacts& facts) {
  JsonWriter json;
  json.Begin('{').Put("sequence", facts.sequence).Put("time", Milliseconds(facts.unix_seconds));
  PutRouter(facts, json);
  PutConfiguration(facts, json);
  PutTokens(facts.tokens, json);
  PutComparison(facts.comparison, json);
  PutGpuTime(facts, json);
  PutModels(facts, json);
  PutGpus(facts, json);
  json.Begin("pools", '[');
  for (size_t i = 0; i < std::min(facts.view.pools.size(), kMostListed); ++i) PutPool(facts, facts.view.pools[i], json);
  json.End(']').Begin("replicas", '[');
  for (size_t i = 0; i < std::min(facts.view.replicas.size(), kMostListed); ++i) {
    PutReplica(facts.view.replicas[i], json);
  }
  json.End(']').Begin("nodes", '[');
  for (size_t i = 0; i < std::min(facts.view.nodes.size(), kMostListed); ++i) PutNode(facts.view.nodes[i], json);
  json.End(']').Begin("hosts", '[');
  for (size_t i = 0; i < std::min(facts.view.hosts.size(), kMostListed); ++i) PutHost(facts.view.hosts[i], json);
  json.End(']').Put("replicas_total", facts.view.replicas.size()).End('}');
  return std::move(json).Take();
}

}  // namespace penstock
