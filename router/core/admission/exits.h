// Requests that leave their engine or their lane: they end, or wait again.
//
// Invariant: the lease of a request ends with the request, or after the time that its engine may hold the memory. Every
// pool whose memory comes back opens. Owned by PenstockCore. O(log n + pools).
#ifndef PENSTOCK_ROUTER_CORE_ADMISSION_EXITS_H_
#define PENSTOCK_ROUTER_CORE_ADMISSION_EXITS_H_

#include <vector>

#include "router/core/admission/rooms.h"

namespace penstock {

class Exits {
 public:
  explicit Exits(Rooms& rooms) : rooms_(rooms) {}

  // Frees the memory whose drains are over and opens its pools.
  void SettleMemory(Instant now);
  void Close(const RequestClosed& event, Instant now);
  void Requeue(const RequestRequeued& event, Instant now, std::vector<Action>& actions);

  int64_t requeues() const { return requeues_; }
  int64_t evicted() const { return evicted_; }
  // Times that a stream began to wait in order to lend its memory.
  int64_t parked() const { return parked_; }

 private:
  // The request that was recalled from its engine begins to wait. A parked stream is not looked at until it is due
  // back.
  void TakeBack(RequestState* request, Instant now);
  // The context of its session, and the worth of its hint.
  void LearnSession(const RequestState& request, const RequestClosed& event);
  void End(RequestState* request, const RequestClosed& event, Instant now);

  Rooms& rooms_;
  int64_t requeues_ = 0;
  int64_t evicted_ = 0;
  int64_t parked_ = 0;
  std::vector<PoolId> freed_;  // The memory of one SettleMemory, reused by the next.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_ADMISSION_EXITS_H_
