#include "router/jobs/schedule/job_schedule.h"

#include <algorithm>

namespace penstock::jobs {
namespace {

// Lines that wait for each line that runs.
constexpr double kWaitingShare = 0.25;
constexpr double kBehindWeight = 2;

}  // namespace

void JobSchedule::Put(BatchKey key, const ScheduledJob& job) { jobs_[key].facts = job; }

void JobSchedule::SetLines(BatchKey key, int64_t at_hand, uint64_t lane, int64_t open, int64_t bytes) {
  Job& job = jobs_.at(key);
  JobLane& lines = job.lanes[lane];
  job.at_hand += at_hand - lines.at_hand;
  lines.at_hand = at_hand;
  job.open = open;
  job.bytes = bytes;
  if (at_hand == 0 && lines.in_core.all() == 0) job.lanes.erase(lane);
}

void JobSchedule::OnClaimFailed(BatchKey key, Instant now, Duration pause) {
  const auto found = jobs_.find(key);
  if (found == jobs_.end()) return;
  Job& job = found->second;
  job.claiming = false;
  job.claims_pause_until = now + pause;
}

void JobSchedule::OnClaimed(BatchKey key, bool drained) {
  const auto found = jobs_.find(key);
  if (found == jobs_.end()) return;
  Job& job = found->second;
  job.claiming = false;
  job.drained = drained;
}

std::optional<BatchKey> JobSchedule::NextClaim(Instant now, bool room) const {
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
    if (!NeedsLines(job, now)) continue;
    if (!job.loaded() && loaded >= kMostLoaded) continue;
    const auto of = loaded_of.find(job.facts.tenant);
    if (!room && of != loaded_of.end()) continue;
    const double count = job.loaded() || of == loaded_of.end() ? 0 : static_cast<double>(of->second);
    const Rank rank{count / job.facts.weight, job.facts.deadline};
    if (!best || rank < best_rank) {
      best = key;
      best_rank = rank;
    }
  }
  return best;
}

bool JobSchedule::NeedsLines(const Job& job, Instant now) const {
  if (job.claiming || job.drained || now < job.claims_pause_until || job.facts.tenant_most == 0) return false;
  // Lines of a model that takes none hide those of other models behind them.
  if (job.at_hand < kLowWater && job.bytes < kLowWaterBytes) return true;
  return job.at_hand < kLowWaterBlocked && job.bytes < kLowWaterBlockedBytes && !LaneToStart(job, now);
}

std::optional<BatchKey> JobSchedule::Next(Instant now) const {
  if (total_.all() >= most_) return std::nullopt;
  std::optional<BatchKey> best;
  Rank best_rank;
  for (const auto& [key, job] : jobs_) {
    if (!LaneToStart(job, now)) continue;
    const Rank rank = RankOf(job, now);
    if (!best || rank < best_rank) {
      best = key;
      best_rank = rank;
    }
  }
  return best;
}

bool JobSchedule::MayStart(uint64_t key, const JobLane& lines, Instant now) const {
  if (lines.at_hand == 0 || now < lines.paused_until) return false;
  if (lines.refusals > 0 && lines.in_core.all() > 0) return false;
  const auto found = lanes_.find(key);
  const Counts* lane = found == lanes_.end() ? nullptr : &found->second;
  const auto most_waiting = std::max(
      kLeastWaiting, lane == nullptr ? 0 : static_cast<int64_t>(static_cast<double>(lane->placed) * kWaitingShare));
  return lane == nullptr || lane->waiting < most_waiting;
}

std::optional<uint64_t> JobSchedule::LaneToStart(const Job& job, Instant now) const {
  const auto tenant = tenants_.find(job.facts.tenant);
  if ((tenant == tenants_.end() ? 0 : tenant->second.all()) >= job.facts.tenant_most) return std::nullopt;
  std::optional<uint64_t> best;
  int64_t fewest = 0;
  for (const auto& [lane, lines] : job.lanes) {
    if ((best && lines.in_core.all() >= fewest) || !MayStart(lane, lines, now)) continue;
    best = lane;
    fewest = lines.in_core.all();
  }
  return best;
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

Instant JobSchedule::NextChange(Instant now) const {
  Instant next = Instant::Never();
  for (const auto& [key, job] : jobs_) {
    if (job.claims_pause_until > now) next = std::min(next, job.claims_pause_until);
    for (const auto& [lane, lines] : job.lanes) {
      if (lines.at_hand > 0 && lines.paused_until > now) next = std::min(next, lines.paused_until);
    }
  }
  return next;
}

template <class Change>
void JobSchedule::Apply(const LinePlace& place, Change change) {
  Job& job = jobs_.at(place.job);
  change(job.in_core);
  change(job.lanes[place.lane].in_core);
  change(total_);
  const auto lane = lanes_.try_emplace(place.lane).first;
  change(lane->second);
  if (lane->second.all() == 0) lanes_.erase(lane);
  const auto tenant = tenants_.try_emplace(place.tenant).first;
  change(tenant->second);
  if (tenant->second.all() == 0) tenants_.erase(tenant);
}

LinePlace JobSchedule::OnStart(BatchKey key, Instant now) {
  const Job& job = jobs_.at(key);
  const LinePlace place{key, job.facts.tenant, LaneToStart(job, now).value(), /*placed=*/false};
  Apply(place, [](Counts& counts) { ++counts.waiting; });
  return place;
}

void JobSchedule::OnPlaced(LinePlace& place) {
  if (place.placed) return;
  place.placed = true;
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

void JobSchedule::OnAnswered(BatchKey key, uint64_t lane) { jobs_.at(key).lanes[lane].refusals = 0; }

void JobSchedule::OnRefused(BatchKey key, uint64_t lane, Instant now, Duration retry_after) {
  JobLane& lines = jobs_.at(key).lanes[lane];
  // Lines that went together are refused together: that is one refusal.
  if (lines.refusals > 0 && now < lines.paused_until) {
    lines.paused_until = std::max(lines.paused_until, now + std::min(kLongestPause, retry_after));
    return;
  }
  const Duration backed_off = kShortestPause * (int64_t{1} << std::min(lines.refusals, 8));
  ++lines.refusals;
  const Duration pause = std::min(kLongestPause, std::max(backed_off, retry_after));
  lines.paused_until = std::max(lines.paused_until, now + pause);
}

}  // namespace penstock::jobs
