// The answer to an arrival: it is forwarded, parked or refused within its own event.
//
// Invariant: an arrival appends exactly one action that names it. Owned by PenstockCore. O(servers) once, then one try.
#ifndef PENSTOCK_ROUTER_CORE_ADMISSION_ENTRY_H_
#define PENSTOCK_ROUTER_CORE_ADMISSION_ENTRY_H_

#include <memory>
#include <optional>
#include <vector>

#include "router/core/admission/rooms.h"
#include "router/core/admission/verdicts.h"

namespace penstock {

class Entry {
 public:
  Entry(Rooms& rooms, Verdicts& verdicts) : rooms_(rooms), verdicts_(verdicts) {}

  void Admit(const RequestArrived& event, Instant now, std::vector<Action>& actions);
  // A request that somebody else placed: it is in the table and in no lane.
  RequestState* Add(const RequestArrived& event, Instant arrived, Instant now);
  // Arrivals are refused from now on.
  void ShutDown() { shutting_down_ = true; }

 private:
  // A class that the fleet does not have yet ranks last, as it does once the fleet has it.
  void Begin(const RequestArrived& event, Instant arrived, RequestState* request);
  // Why no server could ever take the request, whatever the load; nullopt where one could.
  std::optional<Refuse> NeverServed(const RequestState& request, Instant now) const;
  std::optional<Refuse> NeverFits(const RequestState& request) const;
  // Tries the newcomer in its turn. False: it has to wait.
  bool TryNow(RequestState* request, int64_t position, Instant now, std::vector<Action>& actions);

  Rooms& rooms_;
  Verdicts& verdicts_;
  uint64_t next_sequence_ = 1;
  bool shutting_down_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_ADMISSION_ENTRY_H_
