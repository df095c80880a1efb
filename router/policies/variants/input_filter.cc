#include "router/policies/variants/input_filter.h"

namespace penstock {

void InputFilter::Apply(const Event& event, Instant now, std::vector<Action>& actions) {
  if (const auto* changed = std::get_if<FleetChanged>(&event); changed != nullptr && !changes_.fleet.empty()) {
    FleetChanged seen = *changed;
    for (const auto change : changes_.fleet) change(seen.fleet);
    core_->Apply(seen, now, actions);
  } else if (const auto* arrived = std::get_if<RequestArrived>(&event);
             arrived != nullptr && !changes_.arrival.empty()) {
    RequestArrived seen = *arrived;
    for (const auto change : changes_.arrival) change(seen);
    core_->Apply(seen, now, actions);
  } else {
    core_->Apply(event, now, actions);
  }
}

std::optional<Forward> InputFilter::Follow(const FollowedRequest& followed, Instant now) {
  if (following_ == nullptr) return std::nullopt;
  if (changes_.arrival.empty()) return following_->Follow(followed, now);
  FollowedRequest seen = followed;
  for (const auto change : changes_.arrival) change(seen.request);
  return following_->Follow(seen, now);
}

}  // namespace penstock
