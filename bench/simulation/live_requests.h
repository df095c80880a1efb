// The requests of a simulation as the router's edge sees them: where each one is, and its tokens so far.
//
// Invariant: a request is in the streams of its replica exactly while an engine has it and its end has not reached the
// router. One owner; a call costs O(1) but for CloseStream and ProgressOf, which cost O(streams of the replica).
#ifndef PENSTOCK_BENCH_SIMULATION_LIVE_REQUESTS_H_
#define PENSTOCK_BENCH_SIMULATION_LIVE_REQUESTS_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "backends/simulated/machine/step_machine.h"
#include "base/ids.h"
#include "base/units.h"
#include "bench/simulation/engines/event_queue.h"
#include "bench/simulation/engines/simulated_fleet.h"
#include "router/core/contract/event.h"

namespace penstock::bench {

struct LiveRequest {
  const SimulatedArrival* arrival = nullptr;
  bool waiting = true;  // It waits in the router.
  bool open = true;     // It has not ended.
  bool first_seen = false;
  bool arrived = false;
  uint64_t tries = 0;  // Forwards so far.
  ReplicaId replica;
  int64_t tokens = 0;      // Delivered to the client.
  int64_t try_tokens = 0;  // Delivered by the present forward.
  int64_t sampled = 0;     // The value of try_tokens at the last sample.
  int64_t steps = 0;       // Outcomes of steps that brought its tokens since the last sample.

  // `new_step`: it is the first of its step.
  void TakeToken(bool new_step) {
    ++tokens;
    ++try_tokens;
    steps += new_step ? 1 : 0;
  }
};

// The replicas of each pool; a replica without a pool is a group of its own.
std::vector<std::vector<size_t>> GroupsByPool(const Fleet& fleet);

class LiveRequests {
 public:
  // `arrivals` outlives this object. A request's position in it is its number.
  LiveRequests(const std::vector<SimulatedArrival>& arrivals, size_t replicas);

  // The client of a refused request comes back with the same request at `at`; the number of this request.
  uint64_t Retry(uint64_t request, Duration at);
  // A request that was not known beforehand; its number.
  uint64_t Add(const SimulatedArrival& arrival);
  bool IsRetry(uint64_t request) const { return request >= first_retry_; }

  LiveRequest& operator[](uint64_t request) { return requests_[request]; }
  // The request reaches the router.
  const SimulatedArrival& Arrive(uint64_t request);
  int64_t open() const { return open_; }
  // The time to the next event of a routine with this period. None: all requests have ended. `endless`: others may come
  // at any time.
  std::optional<Duration> PauseOf(Duration period, bool endless, const EventQueue& events) const;
  int64_t ended() const { return static_cast<int64_t>(requests_.size()) - open_; }

  // The sequence of a request's present forward.
  simulated::SequenceId SequenceOf(uint64_t request) const { return SequenceOf(request, requests_[request].tries); }
  static uint64_t RequestOf(simulated::SequenceId sequence) { return sequence / kTries; }
  // An open request that runs as this very sequence; null: it ended or was forwarded again.
  LiveRequest* Running(simulated::SequenceId sequence) {
    LiveRequest& live = requests_[RequestOf(sequence)];
    const bool runs = live.open && !live.waiting && SequenceOf(RequestOf(sequence), live.tries) == sequence;
    return runs ? &live : nullptr;
  }

  // The router forwards the request to a replica; the number of this forward.
  uint64_t Forward(uint64_t request, ReplicaId replica);
  // The request waits in the router again.
  void Requeue(uint64_t request) { requests_[request].waiting = true; }
  // The request ended; false when it had ended before.
  bool End(uint64_t request);

  // The request's engine has it.
  void OpenStream(uint64_t request) { StreamsOf(request).push_back(request); }
  // The request's engine has it no more, as far as the router knows.
  void CloseStream(uint64_t request);
  // A copy of the requests whose streams a replica has.
  std::vector<uint64_t> Streams(size_t replica) const { return streams_[replica]; }
  // Tokens of this replica reached the router.
  void NoteDelivery(size_t replica, Instant now) { newest_delivery_[replica] = now; }
  // The progress of these replicas since the last call; streams that are behind or ahead are named one by one. With
  // `one`, it is that of the first replica, as if it had all streams.
  Progress ProgressOf(const std::vector<size_t>& replicas, bool one = false);
  // Streams by replica whose next token is overdue. O(streams).
  const std::vector<int64_t>& LateStreams(const std::vector<ClassSpec>& classes, Instant now);

 private:
  // Forwards of one request with different sequence ids. A request moves a few times at most.
  static constexpr uint64_t kTries = 64;
  static simulated::SequenceId SequenceOf(uint64_t request, uint64_t tries) {
    return request * kTries + tries % kTries;
  }
  // Steps of the replica since the last call: the most of any of its streams.
  int64_t StepsOf(size_t replica) const;
  std::vector<uint64_t>& StreamsOf(uint64_t request) { return streams_[requests_[request].replica.value()]; }

  // Deques, because others hold pointers to their elements while requests are added.
  std::deque<LiveRequest> requests_;
  std::deque<SimulatedArrival> added_;  // Those that `arrivals` lacks: retries too.
  uint64_t first_retry_;
  std::vector<std::vector<uint64_t>> streams_;  // Requests by replica.
  std::vector<Instant> newest_delivery_;        // Time by replica.
  std::vector<int64_t> late_;                   // As of the last LateStreams.
  int64_t open_ = 0;
  int64_t present_ = 0;  // Those that are open and have arrived.
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_LIVE_REQUESTS_H_
