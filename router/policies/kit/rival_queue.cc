#include "router/policies/kit/rival_queue.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>

#include "router/core/contract/admission_checks.h"

namespace penstock {
namespace {

constexpr double kForwardRateSeconds = 10;  // The time over which the rate of forwards decays.

}  // namespace

void RivalQueue::Push(Waiting waiting) {
  const RequestId request = waiting.request.request;
  Lane& lane = lanes_[waiting.request.model];
  lane.order.insert(LaneKeyOf(waiting));
  lane.by_class[waiting.request.service_class].insert(ArrivalOf(waiting));
  if (waiting.request.home) lane.by_home[*waiting.request.home].insert(LaneKeyOf(waiting));
  expiry_.emplace(waiting.expires, request);
  bytes_ += waiting.request.body;
  waiting_.emplace(request, std::move(waiting));
}

RivalQueue::Waiting RivalQueue::Remove(RequestId request) {
  const auto found = waiting_.find(request);
  assert(found != waiting_.end());
  Waiting waiting = std::move(found->second);
  waiting_.erase(found);
  Lane& lane = lanes_[waiting.request.model];
  lane.order.erase(LaneKeyOf(waiting));
  lane.by_class[waiting.request.service_class].erase(ArrivalOf(waiting));
  if (waiting.request.home) {
    const auto home = lane.by_home.find(*waiting.request.home);
    home->second.erase(LaneKeyOf(waiting));
    if (home->second.empty()) lane.by_home.erase(home);
  }
  expiry_.erase({waiting.expires, request});
  bytes_ -= waiting.request.body;
  return waiting;
}

void RivalQueue::Reschedule(const std::function<void(Waiting&)>& set_expiry) {
  expiry_.clear();
  // The order of this walk does not matter: it fills an ordered set.
  for (auto& [id, waiting] : waiting_) {
    set_expiry(waiting);
    expiry_.emplace(waiting.expires, id);
  }
}

void RivalQueue::CountForward(Instant now) {
  forward_rate_ =
      forward_rate_ * std::exp(-(now - forward_rate_at_).seconds() / kForwardRateSeconds) + 1 / kForwardRateSeconds;
  forward_rate_at_ = now;
}

const RivalQueue::Waiting* RivalQueue::Find(RequestId request) const {
  const auto found = waiting_.find(request);
  return found == waiting_.end() ? nullptr : &found->second;
}

RivalQueue::Waiting* RivalQueue::First(ModelId model) {
  const auto lane = lanes_.find(model);
  if (lane == lanes_.end() || lane->second.order.empty()) return nullptr;
  return &waiting_.at(lane->second.order.begin()->second.second);
}

RivalQueue::Waiting* RivalQueue::Behind(const Waiting& waiting) {
  const std::set<LaneKey>& order = lanes_.at(waiting.request.model).order;
  const auto next = order.upper_bound(LaneKeyOf(waiting));
  return next == order.end() ? nullptr : &waiting_.at(next->second.second);
}

std::vector<std::pair<ReplicaId, RequestId>> RivalQueue::Homes(ModelId model) const {
  std::vector<std::pair<ReplicaId, RequestId>> homes;
  const auto lane = lanes_.find(model);
  if (lane == lanes_.end()) return homes;
  for (const auto& [home, bound] : lane->second.by_home) homes.emplace_back(home, bound.begin()->second.second);
  return homes;
}

std::vector<ModelId> RivalQueue::Models() const {
  std::vector<ModelId> models;
  for (const auto& [model, lane] : lanes_) {
    if (!lane.order.empty()) models.push_back(model);
  }
  return models;
}

std::vector<ModelId> RivalQueue::ModelsWaitingFor(WaitReason reason) const {
  std::vector<ModelId> models;
  for (const auto& [model, lane] : lanes_) {
    const auto first = std::find_if(lane.order.begin(), lane.order.end(), [this](const LaneKey& key) {
      const Waiting& waiting = waiting_.at(key.second.second);
      return !waiting.request.home || waiting.reason != WaitReason::kNoReplicaUp;
    });
    if (first == lane.order.end()) continue;
    if (waiting_.at(first->second.second).reason == reason) models.push_back(model);
  }
  return models;
}

std::optional<std::pair<Instant, RequestId>> RivalQueue::FirstExpiry() const {
  if (expiry_.empty()) return std::nullopt;
  return *expiry_.begin();
}

int64_t RivalQueue::OthersOfClass(const Waiting& waiting) const {
  const Lane& lane = lanes_.at(waiting.request.model);
  return static_cast<int64_t>(lane.by_class.at(waiting.request.service_class).size()) - 1;
}

std::optional<WaitView> RivalQueue::WaitOf(RequestId request) const {
  const Waiting* waiting = Find(request);
  if (waiting == nullptr) return std::nullopt;
  const std::set<LaneKey>& order = lanes_.at(waiting->request.model).order;
  return WaitView{waiting->reason, std::distance(order.begin(), order.find(LaneKeyOf(*waiting)))};
}

Duration RivalQueue::RetryAfter(Instant now) const {
  const double age = std::max(0.0, (now - forward_rate_at_).seconds());
  const double rate = forward_rate_ * std::exp(-age / kForwardRateSeconds);
  const double never = 1e9;
  return BoundedRetryAfter(rate > 0 ? std::ceil(static_cast<double>(requests() + 1) / rate) : never);
}

void RivalQueue::Show(const Fleet& fleet, Instant now, CoreView& view) const {
  for (const auto& [model, lane] : lanes_) {
    for (const auto& [service_class, waiting] : lane.by_class) {
      view.lanes.push_back({fleet.models[model.value()].name, fleet.classes[service_class.value()].name,
                            static_cast<int64_t>(waiting.size()),
                            waiting.empty() ? Duration() : now - waiting.begin()->first});
    }
  }
  view.queued_requests = requests();
  view.queued_bytes = bytes_;
}

}  // namespace penstock
