// The engine of a request that the core does not hear of, such as one for tokens: each that has the endpoint, in turn.
//
// Engines that are up go first, then engines that drain or have just come back. An engine that is down, sleeps or wakes
// gets no such request, and no such request wakes an engine. A loop has at most 64 such requests at engines. One caller
// takes no more places than it leaves free. Lives in the session. Belongs to its loop.
#ifndef PENSTOCK_ROUTER_SESSION_FREE_CHOICE_H_
#define PENSTOCK_ROUTER_SESSION_FREE_CHOICE_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/fair_budget.h"
#include "router/live/ticket.h"
#include "router/session/state/session_state.h"

namespace penstock {

// When an engine gets a request that the core does not hear of.
enum class FreeTurn : uint8_t { kFirst, kSecond, kNever };
// Null: nobody watches it.
FreeTurn FreeTurnOf(const EngineNotes* notes);

class FreeChoice {
 public:
  explicit FreeChoice(SessionState& state) : state_(state) {}

  // A Forward to the next engine, or a Refuse. Takes the fleet of now.
  Verdict Next();
  // Gives the place back. No engine works for the request any more.
  void Release() { place_.Release(); }

 private:
  // The place of the next engine of that turn; nullopt: there is none.
  std::optional<size_t> Find(FreeTurn turn) const;

  SessionState& state_;
  std::optional<size_t> turn_;  // The last replica that was chosen.
  FairShare place_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_FREE_CHOICE_H_
