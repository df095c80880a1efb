#include "router/live/fleet/departures.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "base/clock.h"
#include "router/core/contract/vacancy.h"

namespace penstock {
namespace {

constexpr Duration kLookAgain = Duration::Seconds(1);

}  // namespace

void Departures::Stays::Note(const std::vector<bool>& named, uint64_t view) {
  for (uint32_t place = 0; place < named.size(); ++place) {
    if (!named[place]) continue;
    Stay& stay = by_place[place];
    if (stay.first == 0) stay.first = view;
    stay.last = view;
  }
}

bool Departures::Stays::AreViewed(uint32_t place, const std::vector<Published>& published, size_t left_out) const {
  const auto stay = by_place.find(place);
  if (stay == by_place.end()) return false;
  // News that were on their way when it left went out with the first view without it.
  const auto end = published.end() - static_cast<ptrdiff_t>(std::min(left_out, published.size()));
  return std::any_of(published.begin(), end, [&stay](const Published& each) {
    return each.number >= stay->second.first && each.number <= stay->second.last + 1 && !each.view.expired();
  });
}

void Departures::Stays::Erase(const std::vector<uint32_t>& places) {
  for (const uint32_t place : places) by_place.erase(place);
}

std::shared_ptr<const FleetView> Departures::Note(std::shared_ptr<const FleetView> view) {
  std::erase_if(published_, [](const Published& each) { return each.view.expired(); });
  published_.push_back({++views_, view});
  std::vector<bool> present;
  for (const ReplicaSpec& replica : book_.fleet().replicas) present.push_back(!replica.removed);
  replicas_.Note(present, views_);
  models_.Note(book_.models().NamedIn(book_.fleet()), views_);
  classes_.Note(NamedClasses(book_.config(), book_.fleet()), views_);
  TellTenants();
  leaves_ = true;  // Perhaps.
  return view;
}

void Departures::Left(const std::shared_ptr<WatchedReplica>& watched) {
  std::vector<Watch>& watches = watches_[watched->id.value()];
  std::erase_if(watches, [](const Watch& watch) { return watch.over(); });
  watches.push_back({watched, watched->sleeper});
}

bool Departures::IsUnnamed(uint32_t place) const {
  const auto watches = watches_.find(book_.entry(ReplicaId(place)).first);
  const bool watched = watches != watches_.end() && std::any_of(watches->second.begin(), watches->second.end(),
                                                                [](const Watch& watch) { return !watch.over(); });
  return !watched && !replicas_.AreViewed(place, published_);
}

std::vector<uint32_t> Departures::Unviewed(const std::vector<bool>& named, const Stays& stays) const {
  std::vector<uint32_t> found;
  for (uint32_t place = 0; place < named.size(); ++place) {
    if (!named[place] && !stays.AreViewed(place, published_)) found.push_back(place);
  }
  return found;
}

void Departures::AskCore(QuietPlaces& quiet) const {
  const CoreView view = control_.edge().core->View();
  std::erase_if(quiet.replicas, [&view](ReplicaId replica) {
    return replica.value() >= view.replicas.size() || view.replicas[replica.value()].running > 0;
  });
  for (const PoolView& pool : view.pools) {
    quiet.idle_pools.push_back(pool.promised == Amount(0) && pool.draining == Amount(0) && pool.lent == Amount(0));
  }
}

Departures::Leaving Departures::LeavingPlaces(const std::vector<bool>& named_models,
                                              const std::vector<bool>& named_classes) const {
  const Fleet& fleet = book_.fleet();
  Leaving leaving;
  const auto note = [&](uint32_t place, const Stays& stays) {
    leaving.any = true;
    leaving.awaits_view = leaving.awaits_view || stays.AwaitsAnother(place, published_);
  };
  for (uint32_t place = 0; place < fleet.replicas.size(); ++place) {
    const FleetEntry& entry = book_.entry(ReplicaId(place));
    if (entry.removed && !entry.vacant) note(place, replicas_);
  }
  for (uint32_t i = 0; i < named_models.size(); ++i) {
    if (!named_models[i] && !IsVacant(fleet.models[i])) note(i, models_);
  }
  for (uint32_t i = 0; i < named_classes.size(); ++i) {
    if (!named_classes[i] && !IsVacant(fleet.classes[i])) note(i, classes_);
  }
  return leaving;
}

bool Departures::TellTenants() {
  std::vector<std::string> names;
  for (const TenantConfig& tenant : book_.config().tenants) names.push_back(tenant.name);
  const size_t present = names.size();
  absl::flat_hash_set<std::string> known(names.begin(), names.end());
  for (const Published& each : published_) {
    const auto view = each.view.lock();
    if (view == nullptr) continue;
    for (const TenantConfig& tenant : view->book.config().tenants) {
      if (known.insert(tenant.name).second) names.push_back(tenant.name);
    }
  }
  const bool leave = names.size() > present;
  if (names != tenants_) control_.edge().telemetry->SetTenants(tenants_ = std::move(names));
  return leave;
}

void Departures::LookAgain(Instant now) {
  if (leaves_ && now >= looked_ + kLookAgain) Look();
}

void Departures::Look() {
  looked_ = Now();
  QuietPlaces quiet;
  for (uint32_t place = 0; place < book_.fleet().replicas.size(); ++place) {
    const FleetEntry& entry = book_.entry(ReplicaId(place));
    if (entry.removed && !entry.vacant && IsUnnamed(place)) quiet.replicas.emplace_back(place);
  }
  const std::vector<bool> models = book_.models().NamedIn(book_.fleet());
  const std::vector<bool> classes = NamedClasses(book_.config(), book_.fleet());
  const bool tenants_leave = TellTenants();
  const Leaving leaving = LeavingPlaces(models, classes);
  leaves_ = leaving.any || tenants_leave;
  if (leaving.awaits_view) publisher_.Publish({});
  quiet.models = Unviewed(models, models_);
  quiet.classes = Unviewed(classes, classes_);
  if (quiet.empty()) return;
  if (!quiet.replicas.empty()) AskCore(quiet);
  // Posts that loops made before they let go of the replica come first.
  boost::asio::post(control_.io(), [this, quiet = std::move(quiet)] { Vacate(quiet); });
}

void Departures::Vacate(const QuietPlaces& quiet) {
  Vacated places = book_.Vacate(quiet);
  if (places.empty()) return;
  replicas_.Erase(places.replicas);
  models_.Erase(places.models);
  classes_.Erase(places.classes);
  for (const uint32_t place : places.replicas) watches_.erase(place);
  publisher_.Publish({}, [this, places = std::move(places)] { book_.Offer(places); });
}

}  // namespace penstock
