#include "bench/simulation/simulation_accounts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/simulation/fluid_bound.h"

namespace penstock::bench {
namespace {

std::vector<ReplicaPlace> PlacesOf(const SimulatedFleetSpec& spec) {
  std::vector<ReplicaPlace> places;
  for (size_t i = 0; i < spec.replicas.size(); ++i) {
    const std::vector<int>& gpus = spec.replicas[i].gpus;
    places.push_back({{gpus.begin(), gpus.end()}, spec.fleet.replicas[i].models});
  }
  return places;
}

}  // namespace

SimulationAccounts::SimulationAccounts(const SimulatedFleetSpec& spec, Duration window)
    : spec_(spec), window_(window), gpus_(Instant() + window), stranded_(Instant() + window), series_(window) {
  gpus_.Place(PlacesOf(spec), spec.fleet.models.size(), Instant());
  stranded_.Configure(spec.fleet.pools, Instant());
  for (std::vector<int64_t>& compared : compared_) compared.assign(spec.fleet.pools.size(), 0);
}

void SimulationAccounts::Offer(const SimulatedArrival& arrival) {
  const ClassSpec& goals = spec_.fleet.classes[arrival.service_class.value()];
  RequestRecord& record = outcome_.records.emplace_back();
  record.arrival = arrival.at;
  record.model = spec_.fleet.models[arrival.model.value()].name;
  record.tenant = arrival.tenant_name.empty() ? absl::StrCat(arrival.tenant.value()) : arrival.tenant_name;
  record.service_class = goals.name;
  record.prompt = arrival.prompt;
  record.goals = {goals.ttft, goals.tpot};
  record.feasible = IsFeasible(spec_, arrival);
  record.tokens = TokenTally(arrival.at, record.goals, window_);
}

void SimulationAccounts::Forwarded(const Forward& forward) {
  RequestRecord& record = outcome_.records[forward.request.value()];
  if (!record.queue_wait) record.queue_wait = forward.waited;
  record.replica = spec_.fleet.replicas[forward.replica.value()].name;
  const std::vector<int>& gpus = spec_.replicas[forward.replica.value()].gpus;
  if (!spec_.gpu_names.empty() && !gpus.empty()) record.gpu = spec_.gpu_names[static_cast<size_t>(gpus.front())];
}

void SimulationAccounts::Ended(uint64_t request, Fate fate, const std::string& reason, Instant now) {
  RequestRecord& record = outcome_.records[request];
  record.end = now - Instant();
  record.fate = fate;
  record.reason = reason;
}

void SimulationAccounts::TakeForecastErrors(const CoreView& view) {
  for (size_t check = 0; check < kForecastChecks; ++check) {
    std::vector<int64_t>& compared = compared_[check];
    for (size_t pool = 0; pool < view.pools.size() && pool < compared.size(); ++pool) {
      const PoolView::ForecastError& newest = view.pools[pool].forecast_errors[check];
      if (newest.compared > compared[pool]) outcome_.pool_errors[check].push_back(newest);
      compared[pool] = newest.compared;
    }
  }
}

void SimulationAccounts::EndWindow(const EngineTotals& engines) {
  window_over_ = true;
  outcome_.recomputed_tokens = recomputed_elsewhere_ + engines.recomputed_tokens;
  outcome_.step_time = engines.step_times;
}

SimulationOutcome SimulationAccounts::Finish(const EngineTotals& engines, CoreView final_view, Instant now) {
  if (!window_over_) EndWindow(engines);
  outcome_.preemptions = engines.preemptions;
  gpus_.SettleAll(std::max(now, Instant() + window_));
  for (size_t gpu = 0; gpu < gpus_.gpus(); ++gpu) outcome_.gpu_time.push_back(gpus_.time(gpu));
  stranded_.Settle(std::max(now, Instant() + window_));
  outcome_.stranded = stranded_.pools();
  outcome_.stranded_series = series_.Slices(Instant() + window_);
  outcome_.final_view = std::move(final_view);
  return std::move(outcome_);
}

}  // namespace penstock::bench
