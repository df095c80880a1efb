#include "router/live/fleet/departures.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

namespace penstock {

std::shared_ptr<const FleetView> Departures::Note(std::shared_ptr<const FleetView> view) {
  std::erase_if(published_, [](const Published& each) { return each.view.expired(); });
  published_.push_back({++views_, view});
  const std::vector<ReplicaSpec>& replicas = book_.fleet().replicas;
  for (uint32_t place = 0; place < replicas.size(); ++place) {
    if (replicas[place].removed) continue;
    Stay& stay = stays_[place];
    if (stay.first == 0) stay.first = views_;
    stay.last = views_;
  }
  return view;
}

void Departures::Left(const std::shared_ptr<WatchedReplica>& watched) {
  std::vector<Watch>& watches = watches_[watched->id.value()];
  std::erase_if(watches, [](const Watch& watch) { return watch.over(); });
  watches.push_back({watched, watched->sleeper});
}

bool Departures::IsUnnamed(uint32_t place) const {
  const auto stay = stays_.find(place);
  const uint64_t first = stay == stays_.end() ? 0 : stay->second.first;
  // News that were on their way when it left went out with the first view without it.
  const uint64_t last = stay == stays_.end() ? views_ : stay->second.last + 1;
  const bool viewed = std::any_of(published_.begin(), published_.end(), [&](const Published& each) {
    return each.number >= first && each.number <= last && !each.view.expired();
  });
  const auto watches = watches_.find(book_.entry(ReplicaId(place)).first);
  const bool watched = watches != watches_.end() && std::any_of(watches->second.begin(), watches->second.end(),
                                                                [](const Watch& watch) { return !watch.over(); });
  return !viewed && !watched;
}

void Departures::Look() {
  std::vector<ReplicaId> quiet;
  for (uint32_t place = 0; place < book_.fleet().replicas.size(); ++place) {
    const FleetEntry& entry = book_.entry(ReplicaId(place));
    if (entry.removed && !entry.vacant && IsUnnamed(place)) quiet.emplace_back(place);
  }
  if (quiet.empty()) return;
  const CoreView view = control_.edge().core->View();
  std::erase_if(quiet, [&view](ReplicaId replica) {
    return replica.value() >= view.replicas.size() || view.replicas[replica.value()].running > 0;
  });
  std::vector<bool> idle_pools;
  for (const PoolView& pool : view.pools) {
    idle_pools.push_back(pool.promised == Amount(0) && pool.draining == Amount(0) && pool.lent == Amount(0));
  }
  // Posts that loops made before they let go of the replica come first.
  boost::asio::post(control_.io(), [this, quiet = std::move(quiet), idle_pools = std::move(idle_pools)] {
    Vacate(quiet, idle_pools);
  });
}

void Departures::Vacate(const std::vector<ReplicaId>& quiet, const std::vector<bool>& idle_pools) {
  Vacated places = book_.Vacate(quiet, idle_pools);
  if (places.empty()) return;
  for (const uint32_t place : places.replicas) {
    stays_.erase(place);
    watches_.erase(place);
  }
  publisher_.Publish({}, [this, places = std::move(places)] { book_.Offer(places); });
}

}  // namespace penstock
