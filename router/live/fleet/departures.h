// The replicas, models, classes and tenants that left the fleet, until nothing names them any more. Then their places
// become free, and the series of their names end.
//
// Views of the fleet name a replica, up to the first one without it. So do the coroutines of its watch, its requests in
// the core, and posts on their way to the control loop. A model or a class is named by views alone. A request has a
// view until its end: that of its arrival, and from each attempt on the newest one. The same holds for a tenant. A
// place that none of them names is quiet. It becomes vacant, and is offered again when the core and all loops know
// that. Belongs to the control loop. A look costs O(replicas + models + classes), and a view of the core where a place
// may be quiet.
#ifndef PENSTOCK_ROUTER_LIVE_FLEET_DEPARTURES_H_
#define PENSTOCK_ROUTER_LIVE_FLEET_DEPARTURES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/units.h"
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
  // Looks again a second after the last look, if something may leave. Called often.
  void LookAgain(Instant now);

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
    // True: somebody has a view that names the place, or the first one without it. The newest views may be left out.
    bool AreViewed(uint32_t place, const std::vector<Published>& published, size_t left_out = 0) const;
    // True: nothing but the newest view is in the way.
    bool AwaitsAnother(uint32_t place, const std::vector<Published>& published) const {
      return AreViewed(place, published) && !AreViewed(place, published, 1);
    }
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
  // The places that are left and not vacant yet.
  struct Leaving {
    bool any = false;
    bool awaits_view = false;  // One of them could be vacant if there were a newer view.
  };
  Leaving LeavingPlaces(const std::vector<bool>& named_models, const std::vector<bool>& named_classes) const;
  // Tells the metrics the tenants of the views that somebody has. True: some have left the configuration.
  bool TellTenants();

  EventLoop& control_;
  FleetBook& book_;
  FleetPublisher& publisher_;
  uint64_t views_ = 0;
  std::vector<std::string> tenants_;  // Those that the metrics have.
  bool leaves_ = false;               // Something may leave, as of the last look or publication.
  Instant looked_;
  std::vector<Published> published_;  // Those that somebody still has.
  Stays replicas_;
  Stays models_;
  Stays classes_;
  absl::flat_hash_map<uint32_t, std::vector<Watch>> watches_;  // One list per engine, by its first replica.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_FLEET_DEPARTURES_H_
