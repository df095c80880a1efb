// What the rival policies share: books of live and waiting requests, one queue per model, refusals, views.
//
// A rival differs in one verb, Choose(): which of the replicas that could take a request now gets it, or why it waits.
// Requests of a model wait first come first served; the head blocks those behind it. A waiting request is refused when
// its class's queue time has passed or, where the policy refuses late requests and the class allows it, when
// now - arrival + dispatch delay + d*prompt + a exceeds the TTFT goal on the fastest replica of its model; requests
// that even an idle fleet could not serve within the goal are exempt. Memory is not forecast: a lease promises and
// holds what the prompt takes, for the views only.
//
// Same contract as every AdmissionCore: one caller at a time, deterministic. An event costs O(log waiting) and one
// Choose() per model with waiting requests.
#ifndef PENSTOCK_BENCH_POLICIES_RIVAL_CORE_H_
#define PENSTOCK_BENCH_POLICIES_RIVAL_CORE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "router/core/admission_core.h"

namespace penstock {

class RivalCore : public AdmissionCore {
 public:
  void Apply(const Event& event, Instant now, std::vector<Action>& actions) final;
  std::optional<Instant> NextDeadline() const final;
  CoreView View(Instant now) const final;
  std::optional<WaitView> WaitOf(RequestId request) const final;

 protected:
  // What is known of a replica: its own words, and this router's dispatches.
  struct ReplicaState {
    Health health = Health::kDown;
    std::optional<EngineReport> report;  // The last one, however old.
    int64_t running = 0;
    int64_t prefilling = 0;
    int64_t preemptions = 0;  // Since the first report.
  };
  using Choice = std::variant<ReplicaId, WaitReason>;

  // `candidates` is not empty, in ascending order: replicas that serve the model, can hold the prompt, and are up.
  virtual Choice Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) = 0;
  virtual bool RefusesLate() const = 0;

  const Fleet& fleet() const { return fleet_; }
  const ReplicaState& replica(ReplicaId id) const { return replicas_[id.value()]; }

 private:
  using QueueKey = std::pair<Instant, RequestId>;  // Arrival first.

  struct Waiting {
    RequestArrived request;
    Instant arrived;
    Instant expires;
    Refusal expires_with = Refusal::kQueueTimeout;
    std::optional<ReplicaId> avoid;
    WaitReason reason = WaitReason::kBehindOthers;
    QueueKey Key() const { return {arrived, request.request}; }
  };
  struct Live {
    RequestArrived request;
    Instant arrived;
    ReplicaId replica;
    LeaseId lease;
    bool prefilling = true;
    std::vector<std::pair<PoolId, Amount>> held;
  };
  struct Lane {
    std::set<QueueKey> order;
    std::map<ClassId, std::set<QueueKey>> by_class;
  };

  void On(const RequestArrived& event, Instant now, std::vector<Action>& actions);
  void On(const FirstToken& event);
  void On(const RequestClosed& event);
  void On(const RequestReturned& event);
  void On(const EngineReport& event);
  void On(const ReplicaHealth& event);
  void On(const FleetChanged& event);

  // Refuses what has expired, forwards what can go, in that order and once more for what expires at `now`.
  void Settle(Instant now, std::vector<Action>& actions);
  void ExpireBefore(Instant limit, Instant now, std::vector<Action>& actions);
  void PumpLane(ModelId model, Instant now, std::vector<Action>& actions);
  void Dispatch(const Waiting& waiting, ReplicaId replica, Instant now, std::vector<Action>& actions);

  // A reason to refuse at once, whatever the load.
  std::optional<Refuse> RefusalAtArrival(const RequestArrived& request) const;
  Refuse MakeRefusal(const RequestArrived& request, Refusal reason, Instant now) const;
  std::vector<ReplicaId> Candidates(const Waiting& waiting) const;
  bool Serves(const ReplicaSpec& spec, ModelId model) const;
  bool FitsContext(const ReplicaSpec& spec, const RequestArrived& request) const;
  bool FitsPools(const ReplicaSpec& spec, const RequestArrived& request) const;
  Duration IdleFirstToken(const ReplicaSpec& spec, Tokens prompt) const;
  void SetExpiry(Waiting& waiting) const;

  void Enqueue(Waiting waiting);
  Waiting Dequeue(RequestId request);
  void EndLease(RequestId request);
  Duration RetryAfter(Instant now) const;

  Fleet fleet_;
  std::vector<ReplicaState> replicas_;
  std::vector<Amount> held_;  // By pool.
  absl::flat_hash_map<RequestId, Waiting> waiting_;
  absl::flat_hash_map<RequestId, Live> live_;
  std::map<ModelId, Lane> lanes_;
  std::set<QueueKey> expiry_;  // Expiry first.
  Bytes queued_bytes_{0};
  uint64_t next_lease_ = 1;
  bool draining_ = false;
  // Forwards per second, decayed over ten seconds: what Retry-After is computed from.
  double forward_rate_ = 0;
  Instant forward_rate_at_;
  int64_t returns_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_BENCH_POLICIES_RIVAL_CORE_H_
