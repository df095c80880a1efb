#include "router/policies/policy_factory.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "config/policy_catalogue.h"
#include "router/policies/cache_aware.h"
#include "router/policies/chwbl.h"
#include "router/policies/dynamo_cost.h"
#include "router/policies/least_load.h"
#include "router/policies/least_request.h"
#include "router/policies/llmd_flow_control.h"
#include "router/policies/max_tokens.h"
#include "router/policies/mc_sf.h"
#include "router/policies/past_future.h"
#include "router/policies/penstock_variants.h"
#include "router/policies/power_of_two.h"
#include "router/policies/prequal.h"
#include "router/policies/round_robin.h"
#include "router/policies/threshold_gate.h"

namespace penstock {
namespace {

using Core = std::unique_ptr<AdmissionCore>;
using Maker = Core (*)(const PolicyChoice& choice, uint64_t seed);

size_t Size(double value) { return static_cast<size_t>(value); }

Core MakeRoundRobin(const PolicyChoice&, uint64_t) { return std::make_unique<RoundRobin>(); }

Core MakeLeastRequest(const PolicyChoice& c, uint64_t seed) {
  return std::make_unique<LeastRequest>(LeastRequest::Options{Size(c["choices"])}, seed);
}

Core MakePowerOfTwo(const PolicyChoice& c, uint64_t seed) {
  return std::make_unique<PowerOfTwo>(PowerOfTwo::Options{Size(c["choices"]), c["load"] != 0}, seed);
}

Core MakeChwbl(const PolicyChoice& c, uint64_t) {
  return std::make_unique<Chwbl>(
      Chwbl::Options{c["load_factor"], static_cast<int>(c["replication"]), Size(c["prefix_blocks"])});
}

Core MakePrequal(const PolicyChoice& c, uint64_t seed) {
  return std::make_unique<Prequal>(Prequal::Options{c["q_rif"], Size(c["probes"]), Size(c["pool"]), c["latency"] != 0},
                                   seed);
}

Core MakeCacheAware(const PolicyChoice& c, uint64_t) {
  return std::make_unique<CacheAware>(CacheAware::Options{c["cache_threshold"], c["balance_abs"], c["balance_rel"],
                                                          c["overload"],
                                                          Tokens(static_cast<int64_t>(c["tree_tokens"]))});
}

Core MakeLeastLoad(const PolicyChoice& c, uint64_t) {
  return std::make_unique<LeastLoad>(LeastLoad::Options{c["kv_weight"], c["throughput"], c["mean_prefill"], c["veto"]});
}

Core MakeDynamoCost(const PolicyChoice& c, uint64_t seed) {
  return std::make_unique<DynamoCost>(
      DynamoCost::Options{c["overlap_weight"], c["temperature"], Duration::Seconds(c["ttl"]), c["queue"]}, seed);
}

Core MakeLlmdUtilization(const PolicyChoice& c, uint64_t seed) {
  LlmdFlowControl::Options options;
  options.queue = c["queue"];
  options.kv = c["kv"];
  options.headroom = c["headroom"];
  options.ttl = Duration::Seconds(c["ttl"]);
  return std::make_unique<LlmdFlowControl>(options, seed);
}

Core MakeLlmdConcurrency(const PolicyChoice& c, uint64_t seed) {
  LlmdFlowControl::Options options;
  options.by_concurrency = true;
  options.in_flight = c["max"];
  options.headroom = c["headroom"];
  options.ttl = Duration::Seconds(c["ttl"]);
  return std::make_unique<LlmdFlowControl>(options, seed);
}

Core MakeThresholdGate(const PolicyChoice& c, uint64_t) {
  return std::make_unique<ThresholdGate>(ThresholdGate::Options{c["kv"], c["queue"]});
}

Core MakePastFuture(const PolicyChoice& c, uint64_t seed) {
  return std::make_unique<PastFuture>(PastFuture::Options{c["reserved"], Size(c["window"]), Size(c["lists"])}, seed);
}

Core MakeMaxTokens(const PolicyChoice& c, uint64_t) {
  return std::make_unique<MaxTokens>(MaxTokens::Options{c["limit"], c["share"]});
}

Core MakeMcSf(const PolicyChoice& c, uint64_t) {
  return std::make_unique<McSf>(McSf::Options{c["length"] != 0, c["protect"]});
}

const std::map<std::string, Maker>& Makers() {
  static const std::map<std::string, Maker> makers = {
      {"round_robin", MakeRoundRobin},
      {"least_request", MakeLeastRequest},
      {"power_of_two", MakePowerOfTwo},
      {"chwbl", MakeChwbl},
      {"prequal", MakePrequal},
      {"cache_aware", MakeCacheAware},
      {"least_load", MakeLeastLoad},
      {"dynamo_cost", MakeDynamoCost},
      {"llmd_utilization", MakeLlmdUtilization},
      {"llmd_concurrency", MakeLlmdConcurrency},
      {"threshold_gate", MakeThresholdGate},
      {"past_future", MakePastFuture},
      {"max_tokens", MakeMaxTokens},
      {"mc_sf", MakeMcSf},
  };
  return makers;
}

}  // namespace

std::unique_ptr<AdmissionCore> MakePolicy(absl::string_view text, uint64_t seed, std::string* error) {
  const absl::StatusOr<PolicyChoice> choice = ParsePolicy(text);
  if (!choice.ok()) {
    if (error != nullptr) *error = std::string(choice.status().message());
    return nullptr;
  }
  const auto maker = Makers().find(choice->entry->name);
  if (maker != Makers().end()) return maker->second(*choice, seed);
  // The others are Penstock's core under other options; what the catalogue lets through tells it nothing beforehand.
  const absl::StatusOr<std::optional<PenstockVariant>> variant = ParsePenstockVariant(text);
  return variant.ok() && *variant ? MakePenstock(**variant) : nullptr;
}

const std::vector<std::string>& KnownPolicyNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const PolicyEntry& entry : PolicyCatalogue()) all.push_back(entry.name);
    return all;
  }();
  return names;
}

std::vector<std::string> PolicySettings(absl::string_view name) {
  std::vector<std::string> texts;
  for (const PolicyEntry& entry : PolicyCatalogue()) {
    if (absl::string_view(entry.name) != name) continue;
    for (const std::string& settings : entry.alternatives) texts.push_back(absl::StrCat(entry.name, ":", settings));
  }
  return texts;
}

}  // namespace penstock
