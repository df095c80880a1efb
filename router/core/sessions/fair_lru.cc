#include "router/core/sessions/fair_lru.h"

namespace penstock {

void FairLru::Resized(TenantId owner, size_t before, size_t after) {
  if (before > 0) sizes_.erase({before, owner});
  if (after > 0) {
    sizes_.emplace(after, owner);
  } else {
    owners_.erase(owner);
  }
}

std::optional<uint64_t> FairLru::Put(uint64_t key, TenantId owner) {
  const auto found = places_.find(key);
  if (found != places_.end() && found->second.owner == owner) {
    Keys& keys = owners_[owner];
    keys.splice(keys.begin(), keys, found->second.at);
    return std::nullopt;
  }
  Remove(key);
  std::optional<uint64_t> oldest;
  if (places_.size() >= most_) {
    oldest = owners_[sizes_.rbegin()->second].back();
    Remove(*oldest);
  }
  Keys& keys = owners_[owner];
  keys.push_front(key);
  places_[key] = {owner, keys.begin()};
  Resized(owner, keys.size() - 1, keys.size());
  return oldest;
}

void FairLru::Remove(uint64_t key) {
  const auto found = places_.find(key);
  if (found == places_.end()) return;
  const Place place = found->second;
  places_.erase(found);
  Keys& keys = owners_[place.owner];
  keys.erase(place.at);
  Resized(place.owner, keys.size() + 1, keys.size());
}

}  // namespace penstock
