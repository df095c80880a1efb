// The shared part of policies that admit by the memory which the running requests will need: test and bookkeeping.
//
// A request goes to the replica whose fullest pool, with the request in it, would be least full at its worst. It waits
// while no replica has room below `share` of its pools. A pool without a member takes any request that fits it at all.
// The policies use their own books only and ignore the memory that engines report. After a failed test a replica is
// tested again for the same request when a request joins or leaves one of its pools, or when its engine reports.
// Late requests are refused. Owner: one core; one caller at a time.
#ifndef PENSTOCK_ROUTER_POLICIES_GATES_MEMORY_GATE_H_
#define PENSTOCK_ROUTER_POLICIES_GATES_MEMORY_GATE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "router/policies/kit/rival_core.h"

namespace penstock {

class MemoryGate : public RivalCore {
 protected:
  // A running request in one pool.
  struct Member {
    Footprint footprint;
    double expected = 0;  // Output tokens predicted for it at its start.
  };
  using Members = std::map<RequestId, Member>;

  explicit MemoryGate(double share) : share_(share) {}

  // The most that the pool would hold with the request in it, in the pool's unit.
  virtual double NeedWith(PoolId pool, const Footprint& footprint, const RequestArrived& request) = 0;
  // Output tokens predicted at the start, kept with the member.
  virtual double Expect(const RequestArrived& request) const = 0;
  // A request that ended well.
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

  // The share of its fullest pool, or why there is no room.
  std::variant<double, WaitReason> Test(const RequestArrived& request, ReplicaId id);
  uint64_t VersionOf(ReplicaId id) const;

  double share_;
  std::vector<Members> members_;    // By pool.
  std::vector<uint64_t> versions_;  // By pool: grows with every change.
  std::vector<Tried> tried_;        // By replica.
};

// A request of a pool from now on: so much held, growing so much per step, gone after so many steps.
struct Growing {
  double held = 0;
  double per_step = 0;
  double steps = 0;
};

// `generated` of the tokens that each sequence is taken to make are there. At least one step is left.
Growing GrowingOf(const Footprint& footprint, const RequestArrived& request, double generated, double output);

// The most held at any time to come when all advance together: at the end of one of them, those that end no sooner are
// still there. O(n log n).
double FuturePeak(std::vector<Growing> requests);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_GATES_MEMORY_GATE_H_
