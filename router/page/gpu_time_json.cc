#include "router/page/gpu_time_json.h"

#include <optional>

namespace penstock {
namespace {

// The cost in the last two minutes; nullopt: there were no active tokens, or a GPU has no price.
std::optional<double> CostPerMillion(const PageFacts& facts) {
  double active = 0;
  for (const TokenRates& rates : facts.tokens.rates()) active += rates.active;
  const double price = facts.gpus.price();
  if (price <= 0 || active <= 0) return std::nullopt;
  const double per_second = active / static_cast<double>(facts.tokens.rates().size());
  return price / 3600 / per_second * 1e6;
}

}  // namespace

void PutStates(absl::string_view name, const GpuTime& time, JsonWriter& json) {
  json.Begin(name, '{');
  for (size_t i = 0; i < kGpuStates; ++i) json.Put(kGpuStateLabels[i], Milliseconds(time.seconds[i]));
  json.End('}');
}

void PutGpuTime(const PageFacts& facts, JsonWriter& json) {
  const GpuTime fleet = facts.gpus.fleet();
  const double price = facts.gpus.price();
  json.Begin("gpu_time", '{');
  PutStates("seconds", fleet, json);
  json.Put("productive_gpu_hours", fleet.productive_hours())
      .Put("waiting_for_input_s", Milliseconds(fleet.waiting_for_input()))
      .Put("short_of_memory_s", Milliseconds(fleet.short_of_memory()))
      .Put("cost_per_hour", price > 0 ? std::optional(price) : std::nullopt)
      .Put("cost", fleet.cost > 0 ? std::optional(fleet.cost) : std::nullopt)
      .Put("cost_per_million_active_tokens", CostPerMillion(facts));
  json.Begin("wasted_tokens", '{');
  for (size_t i = 0; i < facts.wasted.size(); ++i) json.Put(WasteCause(i), facts.wasted[i]);
  json.Put("recomputed", facts.gpus.recomputed_tokens).End('}').End('}');
}

}  // namespace penstock
