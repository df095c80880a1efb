// The books, the queue and the placement of one core, in order of dependence. Owns them.
//
// Each room has its own invariant; this only ties them together for the rooms that answer events. Owned by
// PenstockCore; neither copied nor moved, because rooms refer to each other.
#ifndef PENSTOCK_ROUTER_CORE_ADMISSION_ROOMS_H_
#define PENSTOCK_ROUTER_CORE_ADMISSION_ROOMS_H_

#include <algorithm>
#include <memory>
#include <utility>

#include "router/core/admission/core_rules.h"
#include "router/core/admission/early_refusal.h"
#include "router/core/books/request_table.h"
#include "router/core/books/running_requests.h"
#include "router/core/pairs/paired_placement.h"
#include "router/core/queue/service_charge.h"
#include "router/core/queue/waiting_room.h"

namespace penstock {

struct Rooms {
  explicit Rooms(CoreRules rules)
      : forecasts(fleet, std::move(rules.outputs)),
        running(fleet, forecasts, requests, lending, rules.speculation),
        order(std::move(rules.order)),
        lateness(fleet, servers, std::move(rules.late), rules.best_effort_apart),
        early(fleet, servers, lateness, waiting, rules.early_refusal),
        reservations(fleet, forecasts, rules.reservations),
        memory(fleet, forecasts, reservations, std::move(rules.memory)),
        placement({fleet, servers, forecasts, requests, running, work}, memory, floors, std::move(rules.guards),
                  rules.search, rules.first_prefill) {}
  Rooms(const Rooms&) = delete;
  Rooms& operator=(const Rooms&) = delete;

  // The fleet has a new description.
  void Configure(const Fleet& description, Instant now) {
    fleet.Configure(description, now);
    running.Configure();
    servers.Configure(now);
    waiting.Configure(description);
    early.Configure();
    order->Configure(description);
    forecasts.Configure();
    work.Configure(waiting.lanes());
    memory.Configure();
    placement.first_prefill.Configure();
    placement.pairs.Configure();
    floors.Configure(now);
    reservations.Configure();
    requests.Reserve(fleet.Rows() + std::min(description.limits.max_queued_requests, kMostReserved));
  }

  // The request is looked at no more: it was placed or refused, or its client left.
  void StopWaiting(RequestState* request, Instant now) {
    reservations.End(request, now);
    lending.EndLoan(request);
    placement.first_prefill.End(request);
    waiting.Remove(request);
    early.WaitsNoMore(request, now);
  }

  // True: the request can be on time nowhere, and would take GPU time from others that are refused. No server is idle,
  // and something runs, so an event will try it again.
  bool WaitsForOthers(const RequestState& request, Instant now) const {
    const ModelId model = request.arrived.model;
    if (!request.waiting.best_effort || request.waiting.reservation.replica) return false;
    const Duration recent = Duration::Seconds(kContended * fleet.GoalsOf(request).ttft.seconds());
    if (!waiting.lane(model).late.IsCrowd(kMostLate, recent, now)) return false;
    const std::vector<size_t>& replicas = servers.Of(model);
    const auto busy = [this](size_t i) { return fleet.replicas()[i].busy(); };
    return std::any_of(replicas.begin(), replicas.end(), busy) && !HasIdleServer(model);
  }

  // True: a server of the model could begin at once. Of a large fleet, the emptiest of each kind and those that opened
  // are looked at: O(kinds + opened).
  bool HasIdleServer(ModelId model) const {
    const std::vector<size_t>& replicas = servers.Of(model);
    const auto idle = [this](size_t i) { return fleet.replicas()[i].Placeable() && !fleet.replicas()[i].busy(); };
    if (replicas.size() <= kSmallFleet) return std::any_of(replicas.begin(), replicas.end(), idle);
    const FloorOrder::Groups& kinds = floors.OrderOf(model).groups();
    const auto idle_kind = [&](const auto& kind) { return idle(kind.second.members.begin()->replica); };
    const auto opened = [&](size_t i) { return idle(i) && std::binary_search(replicas.begin(), replicas.end(), i); };
    return std::any_of(kinds.begin(), kinds.end(), idle_kind) ||
           std::any_of(work.opened().begin(), work.opened().end(), opened);
  }

  // True: running requests of classes below its own may have to make room for the waiting request.
  bool MayDisplace(const RequestState& request) const {
    if (running.evictable() == 0) return false;
    const std::vector<ClassSpec>& classes = fleet.spec().classes;
    return std::any_of(classes.begin() + request.arrived.service_class.value() + 1, classes.end(),
                       [](const ClassSpec& below) { return below.evictable; });
  }

  // The service of requests.
  ServiceCharge Charge() const { return {fleet, servers, forecasts}; }

  // True: no server that is up could take the waiting request, whatever the load.
  bool Stranded(const RequestState& request) const {
    const Tokens needed = servers.LengthNeeded(request);
    const std::vector<size_t>& replicas = servers.Of(request.arrived.model);
    return std::none_of(replicas.begin(), replicas.end(),
                        [&](size_t i) { return fleet.replicas()[i].Placeable() && needed <= servers.Longest(i); });
  }

  FleetState fleet;
  Servers servers{fleet};
  Forecasts forecasts;
  RequestTable requests;
  Lending lending{fleet};
  RunningRequests running;
  WaitingRoom waiting;
  std::unique_ptr<LaneOrder> order;
  Lateness lateness;
  EarlyRefusal early;
  WorkList work{fleet};
  Reservations reservations;
  MemoryTest memory;
  Floors floors{fleet, servers, memory.rule()};
  PairedPlacement placement;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_ADMISSION_ROOMS_H_
