// The shared part of policies that admit by the memory which the running requests will need: test and bookkeeping.
//
// A request goes to the replica whose fullest pool, with the request in it, would be least full at its worst. It waits
// while no replica has room below `share` of its pools. A pool without a member takes any request that fits it at all.
// The policies use their own books only and ignore the memory that engines report. A failed test of a replica holds for
// the same request until a request joins or leaves one of its pools, or its engine reports. Late requests are refused.
// Owner: one core; one caller at a time.
#ifndef PENSTOCK_ROUTER_POLICIES_GATES_MEMORY_GATE_H_
#define PENSTOCK_ROUTER_POLICIES_GATES_MEMORY_GATE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "router/policies/kit/rival_rule.h"

namespace penstock {

class MemoryGate : public RivalRule {
 protected:
  // A running request in one pool.
  struct Member {
    Footprint footprint;
    double expected = 0;  // Output tokens predicted at its start.
  };
  using Members = std::map<RequestId, Member>;

  explicit MemoryGate(double share) : share_(share) {}

  // The most that the pool would hold with the request in it, in the pool's unit.
  virtual double NeedWith(PoolId pool, const Footprint& footprint, const RequestArrived& request) = 0;
  // The output tokens predicted at the start of a request.
  virtual double Expect(const RequestArrived& request) const = 0;
  // A request finished with so many output tokens per sequence.
  virtual void Learn(const RequestArrived& /*request*/, int64_t /*output*/) {}

  const Members& members(PoolId pool) const { return members_[pool.value()]; }

 private:
  struct Tried {
    RequestId request;
    uint64_t version = 0;
    WaitReason reason = WaitReason::kMemory;
  };

  Choice Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) final;
  bool RefusesLate() const final { return true; }
  void OnDispatched(const Live& live) final;
  void OnEnded(const Live& live, const RequestClosed* closed) final;
  void OnReport(ReplicaId id) final;
  void OnFleet() final;

  // The share of the replica's fullest pool, or the reason for no room.
  std::variant<double, WaitReason> Test(const RequestArrived& request, ReplicaId id);
  uint64_t VersionOf(ReplicaId id) const;

  double share_;
  std::vector<Members> members_;    // Per pool.
  std::vector<uint64_t> versions_;  // Per pool: grows with every change.
  std::vector<Tried> tried_;        // Per replica.
};

// The future of a request in a pool: the memory held now, its growth per step, and the steps until its end.
struct Growing {
  double held = 0;
  double per_step = 0;
  double steps = 0;
};

// The future of a request of which each sequence has `generated` of `output` predicted tokens. At least one step is
// left.
Growing GrowingOf(const Footprint& footprint, const RequestArrived& request, double generated, double output);

// The most memory held at any future time when all requests advance together. At the end of a request, the requests
// that end no sooner still hold theirs. O(n log n).
double FuturePeak(std::vector<Growing> requests);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_GATES_MEMORY_GATE_H_
