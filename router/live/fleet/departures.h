// The replicas, models and classes that left the fleet, until nothing names them any more. Then their places become
// free.
//
// Views of the fleet name a replica, up to the first one without it. So do the coroutines of its watch, its requests in
// the core, and posts on their way to the control loop. A model or a class is named by views alone: a request has the
// view of its arrival until its end. A place that none of them names is quiet. It becomes vacant, and is offered again
// when the core and all loops know that. Belongs to the control loop. A look costs O(replicas + models + classes), and
// a view of the core where a place may be quiet.
#ifndef PENSTOCK_ROUTER_LIVE_FLEET_DEPARTURES_H_
#define PENSTOCK_ROUTER_LIVE_FLEET_DEPARTURES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "router/fleet/fleet_book.h"
#include "router/live/event_loop.h"
#include "router/live/fleet/fleet_publisher.h"
#include "router/live/fleet/watched_replica.h"

namespace penstock {

class Departures {
 public:
  Departures(EventLoop& control, FleetBook& book, FleetPublisher& publisher)
      : control_(control), book_(book), publisher_(publisher) {}

  // The view shows the book as it is, and goes to the loops. Returns it.
  std::shared_ptr<const FleetView> Note(std::shared_ptr<const FleetView> view);
  // The watch ended. Its coroutines may run on.
  void Left(const std::shared_ptr<WatchedReplica>& watched);
  // Looks for quiet places. After a publication.
  void Look();

 private:
  struct Published {
    uint64_t number;
    std::weak_ptr<const FleetView> view;
  };
  // The views that name places of one kind, by number. A place that no view names has no entry.
  struct Stays {
    struct Stay {
      uint64_t first = 0;
      uint64_t last = 0;
    };
    void Note(const std::vector<bool>& named, uint64_t view);
    // True: somebody has a view that names the place, or the first one without it.
    bool AreViewed(uint32_t place, const std::vector<Published>& published) const;
    // The vacant places are nobody's.
    void Erase(const std::vector<uint32_t>& places);

    absl::flat_hash_map<uint32_t, Stay> by_place;
  };
  struct Watch {
    std::weak_ptr<const WatchedReplica> watched;
    std::weak_ptr<const Sleeper> sleeper;
    bool over() const { return watched.expired() && sleeper.expired(); }
  };

  // True: neither a view nor a coroutine names the replica of the place.
  bool IsUnnamed(uint32_t place) const;
  // The places of a kind that the book does not name, nor a view.
  std::vector<uint32_t> Unviewed(const std::vector<bool>& named, const Stays& stays) const;
  // Takes out the replicas that the core has requests for, and finds the pools without leases.
  void AskCore(QuietPlaces& quiet) const;
  void Vacate(const QuietPlaces& quiet);

  EventLoop& control_;
  FleetBook& book_;
  FleetPublisher& publisher_;
  uint64_t views_ = 0;
  std::vector<Published> published_;  // Those that somebody still has.
  Stays replicas_;
  Stays models_;
  Stays classes_;
  absl::flat_hash_map<uint32_t, std::vector<Watch>> watches_;  // One list per engine, by its first replica.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_FLEET_DEPARTURES_H_
