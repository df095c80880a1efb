#include "app/simulate/simulation_setup.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "app/simulate/gpu_places.h"
#include "app/simulate/simulated_storage.h"
#include "backends/engines/catalogue/engine_catalogue.h"
#include "backends/simulated/engine/engine_spec.h"
#include "bench/simulation/hindsight_bound.h"
#include "config/values/capacity.h"
#include "router/core/tenants/tenant_gate.h"
#include "router/fleet/fleet_book.h"
#include "router/fleet/tenants.h"
#include "router/policies/policy_factory.h"
#include "router/policies/variants/penstock_variants.h"

namespace penstock {
namespace {

using bench::SimulatedArrival;
using bench::SimulatedReplica;

void SimulateRealReplicas(Config& config) {
  for (ReplicaConfig& replica : config.replicas) {
    if (replica.simulated) continue;
    replica.simulated.emplace();
    replica.simulated->max_seqs = replica.max_seqs.value_or(replica.simulated->max_seqs);
    replica.simulated->max_batched_tokens = replica.max_batched_tokens.value_or(replica.simulated->max_batched_tokens);
    replica.simulated->max_model_len = replica.max_context;
    const EngineDeclaration* engine = EngineByName(replica.engine);
    replica.simulated->overflow_error = engine != nullptr && engine->defaults.overflow_fatal;
  }
}

// The first limit of the replica's cache in elastic memory; 0: it has none of its own.
Bytes LimitOf(const Fleet& fleet, size_t replica) {
  for (const PoolShare& share : fleet.replicas[replica].pools) {
    const PoolSpec& pool = fleet.pools[share.pool.value()];
    if (pool.limited) return Bytes(pool.capacity.value());
  }
  return Bytes(0);
}

SimulatedReplica EngineOf(const simulated::EngineSpec& engine, const SimulatedConfig& config) {
  SimulatedReplica replica;
  replica.limits = engine.limits;
  replica.coefficients = engine.step.Scaled(1 / engine.time_scale);
  replica.slowdown = engine.slowdown.factor;
  replica.slow_from = engine.slowdown.from;
  replica.slow_to = engine.slowdown.to;
  replica.stall = engine.slowdown.stall;
  replica.stall_every = engine.slowdown.stall_every;
  replica.noise = engine.noise;
  if (config.outage) {
    replica.down_from = config.outage->from;
    replica.down_to = config.outage->to;
  }
  if (config.sleep) {
    replica.sleep_after = config.sleep->after;
    replica.wake = config.sleep->wake;
  }
  replica.host_time = config.host_time;
  return replica;
}

// The class that the client, its tenant or its model names. `tenant` is null where none is configured.
std::optional<ClassId> NamedClass(const Config& config, const FleetBook& book, const bench::TraceRequest& request,
                                  const TenantConfig* tenant) {
  if (!request.service_class.empty()) return book.ClassByName(request.service_class);
  const auto of_tenant = config.trace.classes.find(request.tenant);
  if (of_tenant != config.trace.classes.end()) return book.ClassByName(of_tenant->second);
  if (tenant != nullptr && !tenant->service_class.empty()) return book.ClassByName(tenant->service_class);
  const auto mapped = config.trace.models.find(request.model);
  const absl::string_view of_model =
      ClassOfModel(config, mapped == config.trace.models.end() ? request.model : mapped->second);
  return of_model.empty() ? book.default_class() : book.ClassByName(std::string(of_model));
}

// The class of a request as the router chooses it, never above its tenant's max_class; the trace stands for the client.
std::optional<ClassId> ClassIn(const Config& config, const FleetBook& book, const bench::TraceRequest& request,
                               const TenantConfig* tenant) {
  const std::optional<ClassId> named = NamedClass(config, book, request, tenant);
  if (!named || tenant == nullptr || tenant->max_class.empty()) return named;
  return std::max(*named, *book.ClassByName(tenant->max_class));
}

// The requests that a run refused early, and those that were on time.
struct Trail {
  std::vector<bool> early;
  std::vector<bool> on_time;
};

Trail TrailOf(const std::vector<bench::RequestRecord>& records) {
  Trail trail;
  for (const bench::RequestRecord& record : records) {
    trail.early.push_back(record.early);
    trail.on_time.push_back(record.OnTime());
  }
  return trail;
}

// Null: no replica sleeps.
const ReplicaSpec* FindSleeper(const Fleet& fleet) {
  const auto sleeper = absl::c_find_if(fleet.replicas, [](const ReplicaSpec& replica) { return replica.sleep; });
  return sleeper == fleet.replicas.end() ? nullptr : &*sleeper;
}

absl::StatusOr<bench::SimulationReport> RunVariant(const SimulationSetup& setup,
                                                   const std::vector<SimulatedArrival>& arrivals,
                                                   const SimulationRun& run, const std::string& policy,
                                                   bool early_refusal = true, Trail* trail = nullptr) {
  bench::SimulationOptions options;
  options.seed = run.seed;
  options.window = run.window;
  options.retry = run.retry;
  options.prompt_bias = run.prompt_bias;
  options.one_pool = run.one_pool;
  options.progress = run.progress;
  absl::StatusOr<std::optional<PenstockVariant>> variant = ParsePenstockVariant(policy);
  if (!variant.ok()) return variant.status();
  std::unique_ptr<AdmissionCore> core;
  if (*variant) {
    PenstockVariant& chosen = **variant;
    chosen.early_refusal = chosen.early_refusal && early_refusal;
    if (chosen.true_lengths && run.retry) {
      return absl::InvalidArgumentError(absl::StrCat("policy ", policy, ": it knows no output of a retry"));
    }
    if (chosen.true_prompts) options.prompt_error = options.prompt_bias = 0;
    if (chosen.true_steps) options.step_error = 0;
    if (chosen.true_lengths) {
      chosen.output_of = [&arrivals](RequestId request) { return arrivals[request.value()].output; };
    }
    core = MakePenstock(chosen);
  } else {
    const absl::StatusOr<PolicyChoice> choice = ParsePolicy(policy);
    if (!choice.ok())
      return absl::InvalidArgumentError(absl::StrCat("policy ", policy, ": ", choice.status().message()));
    if (const ReplicaSpec* sleeper = FindSleeper(setup.spec.fleet)) {
      return absl::InvalidArgumentError(
          absl::StrCat("policy ", policy, ": it wakes no replica, and ", sleeper->name, " has `sleep`"));
    }
    options.report_period = choice->policy->report_period;
    core = choice->policy->make(*choice, run.seed);
  }
  TenantGate gate(std::move(core));
  bench::FleetSimulation simulation(setup.spec, gate, options);
  if (run.observer) simulation.Observe(run.observer);
  if (run.on_core) run.on_core(&gate);
  bench::SimulationOutcome outcome = simulation.Run(arrivals);
  if (run.on_core) run.on_core(nullptr);
  if (trail != nullptr) *trail = TrailOf(outcome.records);
  bench::SimulationReport report = bench::ReportOf(setup.spec, arrivals, run.window, std::move(outcome));
  report.policy = run.policy;
  report.seed = run.seed;
  return report;
}

// One run, and a second one without early refusals where the first has some and their cost is asked for.
absl::StatusOr<bench::SimulationReport> RunAndCompare(const SimulationSetup& setup,
                                                      const std::vector<SimulatedArrival>& arrivals,
                                                      const SimulationRun& run) {
  Trail with;
  absl::StatusOr<bench::SimulationReport> report = RunVariant(setup, arrivals, run, run.policy, true, &with);
  if (!report.ok() || !run.count_wrong) return report;
  report->wrong_refusals = 0;
  if (report->early_refusals == 0) return report;
  SimulationRun silent = run;
  silent.observer = nullptr;
  Trail without;
  const absl::StatusOr<bench::SimulationReport> second =
      RunVariant(setup, arrivals, silent, run.policy, false, &without);
  if (!second.ok()) return second.status();
  for (size_t i = 0; i < arrivals.size(); ++i) *report->wrong_refusals += with.early[i] && without.on_time[i] ? 1 : 0;
  return report;
}

// The best of a yardstick's variants.
absl::StatusOr<bench::SimulationReport> RunYardstick(const SimulationSetup& setup,
                                                     const std::vector<SimulatedArrival>& arrivals,
                                                     const SimulationRun& run) {
  std::optional<bench::SimulationReport> best;
  const auto score = [&run](const bench::SimulationReport& report) {
    if (run.most_on_time) return report.feasible_on_time_share;
    return report.results.active_tokens_per_s + report.results.goodput_tokens_per_s;
  };
  SimulationRun unseen = run;
  unseen.observer = nullptr;
  std::string chosen;
  for (const std::string& order : YardstickVariants(run.policy)) {
    absl::StatusOr<bench::SimulationReport> report = RunVariant(setup, arrivals, unseen, order);
    if (!report.ok()) return report.status();
    if (best && score(*report) <= score(*best)) continue;
    best = *std::move(report);
    chosen = order;
    if (run.most_on_time && best->feasible_on_time_share >= run.enough_on_time) break;
  }
  // Only the run that is reported is shown.
  if (run.observer) return RunVariant(setup, arrivals, run, chosen);
  return *std::move(best);
}

}  // namespace

absl::StatusOr<SimulationSetup> SetUpSimulation(Config config) {
  SimulateRealReplicas(config);
  const auto book = std::make_shared<const FleetBook>(config);
  const auto shared = std::make_shared<const Config>(config);
  SimulationSetup setup;
  setup.spec.fleet = book->fleet();
  GpuPlaces places(config, setup.spec);
  for (uint32_t i = 0; i < book->fleet().replicas.size(); ++i) {
    const ReplicaConfig replica = ReplicaOf(book->entry(ReplicaId(i))).config;
    const absl::StatusOr<simulated::EngineSpec> engine = simulated::SpecOf(config, replica);
    if (!engine.ok()) return engine.status();
    SimulatedReplica& added = setup.spec.replicas.emplace_back(EngineOf(*engine, *replica.simulated));
    added.gpus = places.GpusOf(replica);
    added.elastic = places.ElasticOf(*engine);
    if (replica.elastic && added.elastic >= 0) added.limit = LimitOf(setup.spec.fleet, setup.spec.replicas.size() - 1);
    added.cache_events = replica.kv_events.has_value();
    std::vector<size_t> ranks;
    for (const ReplicaId rank : book->RanksOf(ReplicaId(i))) ranks.push_back(rank.value());
    if (ranks.size() > 1) setup.spec.ranks.push_back(std::move(ranks));
    if (const std::optional<SleepSpec>& sleep = setup.spec.fleet.replicas[i].sleep) {
      added.wake = sleep->wake;
      added.wake_dropped = sleep->wake_dropped;
    }
  }
  setup.spec.storages = StoragesOf(config, *book);
  setup.storage_of = [shared](const std::string& tenant) { return StorageNeedOf(*shared, tenant); };
  setup.model_of = [book, names = config.trace.models](const std::string& name) -> std::optional<ModelId> {
    const auto mapped = names.find(name);
    if (mapped != names.end()) return book->ModelByName(mapped->second);
    if (name.empty() && book->fleet().models.size() == 1) return ModelId(0);
    return book->ModelByName(name);
  };
  auto tenants = std::make_shared<absl::flat_hash_map<absl::string_view, const TenantConfig*>>();
  for (const TenantConfig& tenant : shared->tenants) tenants->emplace(tenant.name, &tenant);
  setup.class_of = [book, shared, tenants](const bench::TraceRequest& request) {
    const auto tenant = tenants->find(request.tenant);
    return ClassIn(*shared, *book, request, tenant == tenants->end() ? nullptr : tenant->second);
  };
  setup.tenant_of = [shared, tenants](const std::string& name) -> std::optional<TenantId> {
    return tenants->contains(name) ? std::optional(TenantIdOf(name)) : std::nullopt;
  };
  return setup;
}

absl::StatusOr<bench::Trace> OpenWindow(const std::string& trace, const bench::TraceWindow& window, uint64_t seed) {
  absl::StatusOr<bench::Trace> opened = bench::OpenTrace(trace, window, seed);
  if (opened.ok() && opened->requests.empty()) {
    return absl::OutOfRangeError(absl::StrCat(trace, ": no request arrives in the window asked for"));
  }
  return opened;
}

absl::StatusOr<bench::SimulationReport> RunSimulation(const SimulationSetup& setup,
                                                      const std::vector<bench::SimulatedArrival>& arrivals,
                                                      const SimulationRun& run) {
  absl::StatusOr<bench::SimulationReport> report =
      IsYardstick(run.policy) ? RunYardstick(setup, arrivals, run) : RunAndCompare(setup, arrivals, run);
  if (report.ok() && run.bounds) report->hindsight_bound = bench::HindsightBound(setup.spec, arrivals, run.window);
  return report;
}

}  // namespace penstock
