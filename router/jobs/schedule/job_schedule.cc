#include "router/jobs/schedule/job_schedule.h"

#include <algorithm>

namespace penstock::jobs {
namespace {

// Lines that wait for each line that runs.
constexpr double kWaitingShare = 0.25;
constexpr double kBehindWeight = 2;

}  // namespace

void JobSchedule::Put(BatchKey key, const ScheduledJob& job) { jobs_[key].facts = job; }

void JobSchedule::SetLines(BatchKey key, int64_t at_hand, uint64_t lane, int64_t open) {
  Job& job = jobs_.at(key);
  job.at_hand = at_hand;
  job.lane = lane;
  job.open = open;
}

void JobSchedule::OnClaimed(BatchKey key, bool drained) {
  Job& job = jobs_.at(key);
  job.claiming = false;
  job.drained = drained;
}

std::optional<BatchKey> JobSchedule::NextClaim(Instant now) const {
  int64_t loaded = 0;
  std::map<TenantId, int64_t> loaded_of;
  for (const auto& [key, job] : jobs_) {
    if (!job.loaded()) continue;
    ++loaded;
    ++loaded_of[job.facts.tenant];
  }
  std::optional<BatchKey> best;
  Rank best_rank;
  for (const auto& [key, job] : jobs_) {
    if (job.claiming || job.drained || job.at_hand >= kLowWater || now < job.paused_until) continue;
    if (!job.loaded() && loaded >= kMostLoaded) continue;
    const auto of = loaded_of.find(job.facts.tenant);
    const double count = job.loaded() || of == loaded_of.end() ? 0 : static_cast<double>(of->second);
    const Rank rank{count / job.facts.weight, job.facts.deadline};
    if (!best || rank < best_rank) {
      best = key;
      best_rank = rank;
    }
  }
  return best;
}

std::optional<BatchKey> JobSchedule::Next(Instant now) const {
  if (total_.all() >= most_) return std::nullopt;
  std::optional<BatchKey> best;
  Rank best_rank;
  for (const auto& [key, job] : jobs_) {
    if (!MayStart(job, now)) continue;
    const Rank rank = RankOf(job, now);
    if (!best || rank < best_rank) {
      best = key;
      best_rank = rank;
    }
  }
  return best;
}

bool JobSchedule::MayStart(const Job& job, Instant now) const {
  if (job.at_hand == 0 || now < job.paused_until) return false;
  if (job.refusals > 0 && job.in_core.waiting > 0) return false;
  const Counts* lane = LaneOf(job.lane);
  const auto most_waiting = std::max(
      kLeastWaiting, lane == nullptr ? 0 : static_cast<int64_t>(static_cast<double>(lane->placed) * kWaitingShare));
  if (lane != nullptr && lane->waiting >= most_waiting) return false;
  const auto tenant = tenants_.find(job.facts.tenant);
  return tenant == tenants_.end() || tenant->second.all() < job.facts.tenant_most;
}

JobSchedule::Rank JobSchedule::RankOf(const Job& job, Instant now) const {
  const auto tenant = tenants_.find(job.facts.tenant);
  const double lines = tenant == tenants_.end() ? 0 : static_cast<double>(tenant->second.all());
  const double window = (job.facts.deadline - job.facts.began).seconds();
  const double time_left = (job.facts.deadline - now).seconds() / std::max(1e-9, window);
  const double work_left = static_cast<double>(job.open) / static_cast<double>(std::max<int64_t>(1, job.facts.total));
  const double weight = job.facts.weight * (work_left > time_left ? kBehindWeight : 1);
  // A tenant without a line in the core goes by its weight too.
  return {(lines + 1) / weight, job.facts.deadline};
}

const JobSchedule::Counts* JobSchedule::LaneOf(uint64_t lane) const {
  const auto found = lanes_.find(lane);
  return found == lanes_.end() ? nullptr : &found->second;
}

Instant JobSchedule::NextChange(Instant now) const {
  Instant next = Instant::Never();
  for (const auto& [key, job] : jobs_) {
    if (job.at_hand > 0 && job.paused_until > now) next = std::min(next, job.paused_until);
  }
  return next;
}

template <class Change>
void JobSchedule::Apply(const LinePlace& place, Change change) {
  change(jobs_.at(place.job).in_core);
  change(total_);
  const auto lane = lanes_.try_emplace(place.lane).first;
  change(lane->second);
  if (lane->second.all() == 0) lanes_.erase(lane);
  const auto tenant = tenants_.try_emplace(place.tenant).first;
  change(tenant->second);
  if (tenant->second.all() == 0) tenants_.erase(tenant);
}

LinePlace JobSchedule::OnStart(BatchKey key) {
  const Job& job = jobs_.at(key);
  const LinePlace place{key, job.facts.tenant, job.lane, /*placed=*/false};
  Apply(place, [](Counts& counts) { ++counts.waiting; });
  return place;
}

void JobSchedule::OnPlaced(LinePlace& place) {
  if (place.placed) return;
  place.placed = true;
  jobs_.at(place.job).refusals = 0;
  Apply(place, [](Counts& counts) {
    --counts.waiting;
    ++counts.placed;
  });
}

void JobSchedule::OnUnplaced(LinePlace& place) {
  if (!place.placed) return;
  place.placed = false;
  Apply(place, [](Counts& counts) {
    ++counts.waiting;
    --counts.placed;
  });
}

void JobSchedule::OnEnd(const LinePlace& place) {
  Apply(place, [placed = place.placed](Counts& counts) { --(placed ? counts.placed : counts.waiting); });
}

void JobSchedule::OnRefused(BatchKey key, Instant now, Duration retry_after) {
  Job& job = jobs_.at(key);
  // Lines that went together are refused together: that is one refusal.
  if (job.refusals > 0 && now < job.paused_until) {
    job.paused_until = std::max(job.paused_until, now + std::min(kLongestPause, retry_after));
    return;
  }
  const Duration backed_off = kShortestPause * (int64_t{1} << std::min(job.refusals, 8));
  ++job.refusals;
  const Duration pause = std::min(kLongestPause, std::max(backed_off, retry_after));
  job.paused_until = std::max(job.paused_until, now + pause);
}

}  // namespace penstock::jobs
