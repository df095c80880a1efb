#include "bench/simulation/live_requests.h"

#include <algorithm>
#include <map>

namespace penstock::bench {

std::vector<std::vector<size_t>> GroupsByPool(const Fleet& fleet) {
  std::vector<std::vector<size_t>> groups;
  std::map<size_t, size_t> group_of_pool;
  for (size_t i = 0; i < fleet.replicas.size(); ++i) {
    const std::vector<PoolShare>& pools = fleet.replicas[i].pools;
    const size_t pool = pools.empty() ? fleet.pools.size() + i : pools.front().pool.value();
    const size_t group = group_of_pool.try_emplace(pool, groups.size()).first->second;
    if (group == groups.size()) groups.emplace_back();
    groups[group].push_back(i);
  }
  return groups;
}

LiveRequests::LiveRequests(const std::vector<SimulatedArrival>& arrivals, size_t replicas)
    : requests_(arrivals.size()),
      first_retry_(arrivals.size()),
      streams_(replicas),
      newest_delivery_(replicas),
      open_(static_cast<int64_t>(arrivals.size())) {
  for (size_t i = 0; i < arrivals.size(); ++i) requests_[i].arrival = &arrivals[i];
}

uint64_t LiveRequests::Add(const SimulatedArrival& arrival) {
  requests_.emplace_back().arrival = &added_.emplace_back(arrival);
  ++open_;
  return requests_.size() - 1;
}

uint64_t LiveRequests::Retry(uint64_t request, Duration at) {
  SimulatedArrival arrival = *requests_[request].arrival;
  arrival.at = at;
  return Add(arrival);
}

uint64_t LiveRequests::Forward(uint64_t request, ReplicaId replica) {
  LiveRequest& live = requests_[request];
  live.waiting = false;
  live.replica = replica;
  live.try_tokens = live.sampled = live.steps = 0;
  live.first_seen = false;
  return ++live.tries;
}

const SimulatedArrival& LiveRequests::Arrive(uint64_t request) {
  requests_[request].arrived = true;
  ++present_;
  return *requests_[request].arrival;
}

std::optional<Duration> LiveRequests::PauseOf(Duration period, bool endless, const EventQueue& events) const {
  if (endless) return period;
  if (open_ == 0) return std::nullopt;
  return present_ > 0 ? period : events.IdlePause(period);
}

bool LiveRequests::End(uint64_t request) {
  LiveRequest& live = requests_[request];
  if (!live.open) return false;
  live.open = false;
  --open_;
  present_ -= live.arrived ? 1 : 0;
  return true;
}

void LiveRequests::CloseStream(uint64_t request) {
  std::vector<uint64_t>& streams = StreamsOf(request);
  streams.erase(std::remove(streams.begin(), streams.end(), request), streams.end());
}

int64_t LiveRequests::StepsOf(size_t replica) const {
  int64_t steps = 0;
  for (const uint64_t request : streams_[replica]) steps = std::max(steps, requests_[request].steps);
  return steps;
}

Progress LiveRequests::ProgressOf(const std::vector<size_t>& replicas, bool one) {
  Progress progress;
  ReplicaProgress whole{ReplicaId(static_cast<uint32_t>(replicas.front())), 0, Instant()};
  for (const size_t replica : replicas) {
    whole.steps = std::max(whole.steps, StepsOf(replica));
    whole.newest_step_end = std::max(whole.newest_step_end, newest_delivery_[replica]);
  }
  if (one && whole.steps > 0) progress.replicas.push_back(whole);
  for (const size_t replica : replicas) {
    const int64_t steps = one ? whole.steps : StepsOf(replica);
    if (steps == 0) continue;
    if (!one)
      progress.replicas.push_back({ReplicaId(static_cast<uint32_t>(replica)), steps, newest_delivery_[replica]});
    for (const uint64_t request : streams_[replica]) {
      LiveRequest& live = requests_[request];
      const int64_t own = live.try_tokens - live.sampled;
      live.sampled = live.try_tokens;
      live.steps = 0;
      if (own != steps && live.first_seen) progress.corrections.push_back({RequestId(request), Tokens(live.tokens)});
    }
  }
  return progress;
}

const std::vector<int64_t>& LiveRequests::LateStreams(const std::vector<ClassSpec>& classes, Instant now) {
  late_.assign(streams_.size(), 0);
  for (size_t replica = 0; replica < streams_.size(); ++replica) {
    for (const uint64_t request : streams_[replica]) {
      const LiveRequest& live = requests_[request];
      const ClassSpec& goals = classes[live.arrival->service_class.value()];
      const Instant due = Instant() + live.arrival->at + goals.ttft + goals.tpot * live.tokens;
      late_[replica] += live.first_seen && live.arrival->observed && due < now ? 1 : 0;
    }
  }
  return late_;
}

}  // namespace penstock::bench
