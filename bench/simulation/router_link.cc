#include "bench/simulation/router_link.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace penstock::bench {

Fleet RouterLink::BelievedFleet(const Fleet& fleet) {
  Fleet believed = fleet;
  for (ReplicaSpec& replica : believed.replicas) {
    replica.prior = replica.prior.Scaled(1 + options_.step_error * (2 * generator_.Uniform() - 1));
  }
  one_pool_.ApplyTo(believed);
  return believed;
}

double RouterLink::BiasOf(TenantId tenant) const {
  if (options_.prompt_bias == 0) return 0;
  // The same in every run of a seed, however many requests the tenant sends. No estimate falls to zero.
  Generator own(options_.seed ^ (tenant.value() * 0x9E3779B97F4A7C15ULL));
  return std::max(-0.5, options_.prompt_bias * own.Normal());
}

void RouterLink::SendOutcome(size_t replica, simulated::StepOutcome step) {
  if (step.tokens.empty() && step.ended.empty()) return;
  size_t position = outcomes_.size();
  if (free_positions_.empty()) {
    outcomes_.emplace_back();
  } else {
    position = free_positions_.back();
    free_positions_.pop_back();
  }
  outcomes_[position] = {replica, std::move(step)};
  events_.Schedule(events_.now() + options_.link_delay, Occurrence::kDeliver, position);
}

RouterLink::Outcome RouterLink::TakeOutcome(uint64_t position) {
  free_positions_.push_back(position);
  return std::move(outcomes_[position]);
}

void RouterLink::StartReports(size_t replica) {
  // Reports of different engines are spread over the period.
  const Duration phase = Duration::Seconds(options_.report_period.seconds() * generator_.Uniform());
  events_.Schedule(Instant() + phase, Occurrence::kMeasure, replica);
}

void RouterLink::SendReport(size_t replica, const simulated::EngineGauges& gauges) {
  EngineReport& report = reports_[replica];
  report.replica = ReplicaId(static_cast<uint32_t>(replica));
  report.sampled_at = events_.now();
  report.kv_used_share = static_cast<double>(gauges.used.value()) / gauges.total.AsDouble();
  report.running = gauges.running;
  report.waiting = gauges.waiting;
  report.preemptions = gauges.preemptions;
  report.cache_queries = gauges.prefix_queries;
  report.cache_hits = gauges.prefix_hits + gauges.host_hits;
  const std::optional<EngineReport> whole = one_pool_.ReportOf(replica, reports_);
  if (!whole) return;
  sent_[whole->replica.value()] = *whole;
  events_.Schedule(events_.now() + options_.report_delay, Occurrence::kReport, whole->replica.value());
}

}  // namespace penstock::bench
