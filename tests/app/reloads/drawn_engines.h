// The engines of a fleet that reloads: their health, their reports, and the orders that they carry out well, badly,
// late or never. Each happening returns the events that the core gets. Not thread-safe.
#ifndef PENSTOCK_TESTS_APP_RELOADS_DRAWN_ENGINES_H_
#define PENSTOCK_TESTS_APP_RELOADS_DRAWN_ENGINES_H_

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "router/core/contract/action.h"
#include "router/core/contract/event.h"
#include "tests/app/reloads/reloaded_fleet.h"
#include "tests/core/choices.h"

namespace penstock::testing {

class DrawnEngines {
 public:
  DrawnEngines(Choices& choices, ReloadedFleet& fleet) : choices_(choices), fleet_(fleet) {}

  // True: the action is an order to an engine. One that its engine could not carry out is a broken promise.
  bool Take(const Action& action, Instant now, std::string& broken);
  // True: an order to the engine of the place is under way.
  bool IsOrdered(uint32_t place) const;
  bool idle() const { return orders_.empty(); }
  // The oldest one ends well.
  std::vector<Event> EndOldestOrder(Instant now) { return End(0, true, now); }

  // An order ends, an engine reports, or its health changes.
  std::vector<Event> Act(Instant now);
  // The fleet has a new description: some of its replicas are up.
  std::vector<Event> Appear();
  std::vector<Event> AllUp();
  // True: the core may send a request for the model there.
  bool Takes(ReplicaId replica, ModelId model) const;

 private:
  struct Order {
    Action action;
    ReplicaId replica;
    Instant since;
  };

  std::vector<Event> EndAnyOrder(Instant now);
  std::vector<Event> Report(Instant now);
  std::vector<Event> ChangeHealth();
  std::vector<Event> End(size_t position, bool well, Instant now);
  Event TellAdapter(const AdapterResidency& event);
  std::vector<Event> SetHealth(ReplicaId replica, Health health);

  Choices& choices_;
  ReloadedFleet& fleet_;
  std::vector<Health> health_;
  std::vector<Order> orders_;
  std::set<std::pair<ReplicaId, ModelId>> loaded_;  // Adapters, by the newest events of the core.
};

}  // namespace penstock::testing

#endif  // PENSTOCK_TESTS_APP_RELOADS_DRAWN_ENGINES_H_
