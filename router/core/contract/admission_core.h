// The interface of a decision core: an event and the time go in, actions come out.
//
// PenstockCore implements it; a rival policy is another implementation. The live server, the simulator and the tests
// drive the same object. Implementations read no clock, do no I/O and never block. Equal event logs give equal actions.
// One caller at a time; `now` never goes back.
#ifndef PENSTOCK_ROUTER_CORE_CONTRACT_ADMISSION_CORE_H_
#define PENSTOCK_ROUTER_CORE_CONTRACT_ADMISSION_CORE_H_

#include <optional>
#include <vector>

#include "router/core/contract/action.h"
#include "router/core/contract/event.h"
#include "router/core/contract/memory_waits.h"
#include "router/core/contract/view.h"

namespace penstock {

class AdmissionCore {
 public:
  virtual ~AdmissionCore() = default;

  // Applies one event at `now`; appends the actions that the caller must carry out.
  virtual void Apply(const Event& event, Instant now, std::vector<Action>& actions) = 0;
  // The earliest instant at which a TimerFired event would change anything.
  virtual std::optional<Instant> NextDeadline() const = 0;
  // A snapshot for metrics; costs O(pools + replicas + lanes).
  virtual CoreView View(Instant now) const = 0;
  // Why a waiting request waits; nullopt when it does not wait.
  virtual std::optional<WaitView> WaitOf(RequestId request) const = 0;
  // The demand that memory holds back; empty where the core tells no reason to wait.
  virtual MemoryWaits FindMemoryWaits(Instant) const { return {}; }
  // The output tokens that an engine is taken to have made for a request that shows none, over all sequences; nullopt:
  // the core cannot tell.
  virtual std::optional<Tokens> UnseenOutput(RequestId) const { return std::nullopt; }
  // The rest of a tenant's limits; nullopt where it has none, or the core keeps none.
  virtual std::optional<AllowanceView> AllowanceOf(TenantId, Instant) const { return std::nullopt; }
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_CONTRACT_ADMISSION_CORE_H_
