#include "bench/simulation/live_requests.h"

#include <algorithm>

namespace penstock::bench {

LiveRequests::LiveRequests(const std::vector<SimulatedArrival>& arrivals, size_t replicas)
    : requests_(arrivals.size()),
      streams_(replicas),
      newest_delivery_(replicas),
      open_(static_cast<int64_t>(arrivals.size())) {
  for (size_t i = 0; i < arrivals.size(); ++i) requests_[i].arrival = &arrivals[i];
}

uint64_t LiveRequests::Forward(uint64_t request, ReplicaId replica) {
  LiveRequest& live = requests_[request];
  live.waiting = false;
  live.replica = replica;
  live.try_tokens = live.sampled = 0;
  live.first_seen = false;
  return ++live.tries;
}

bool LiveRequests::End(uint64_t request) {
  LiveRequest& live = requests_[request];
  if (!live.open) return false;
  live.open = false;
  --open_;
  return true;
}

void LiveRequests::CloseStream(uint64_t request) {
  std::vector<uint64_t>& streams = StreamsOf(request);
  streams.erase(std::remove(streams.begin(), streams.end(), request), streams.end());
}

Progress LiveRequests::ProgressOf(const std::vector<size_t>& replicas) {
  Progress progress;
  for (const size_t replica : replicas) {
    int64_t steps = 0;
    for (const uint64_t request : streams_[replica]) {
      steps = std::max(steps, requests_[request].try_tokens - requests_[request].sampled);
    }
    if (steps == 0) continue;
    progress.replicas.push_back({ReplicaId(static_cast<uint32_t>(replica)), steps, newest_delivery_[replica]});
    for (const uint64_t request : streams_[replica]) {
      LiveRequest& live = requests_[request];
      const int64_t own = live.try_tokens - live.sampled;
      live.sampled = live.try_tokens;
      if (own != steps && live.first_seen) progress.corrections.push_back({RequestId(request), Tokens(live.tokens)});
    }
  }
  return progress;
}

}  // namespace penstock::bench
