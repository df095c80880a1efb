#include "router/core/queue/waiting_room.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "router/core/contract/admission_checks.h"
#include "router/core/contract/vacancy.h"

namespace penstock {

void WaitingRoom::Configure(const Fleet& fleet) {
  terms_.Configure(fleet);
  while (lanes_.size() < fleet.models.size()) lanes_.emplace_back(fleet.classes.size(), &terms_);
  for (size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    lane.Configure(fleet.classes, i < fleet.models.size() && IsVacant(fleet.models[i]));
    std::vector<RequestState*> waiting;
    lane.All(waiting);
    for (RequestState* request : waiting) request->waiting.ForgetTries();
  }
}

void WaitingRoom::Push(RequestState* request, Instant check) {
  request->phase = RequestPhase::kWaiting;
  lane(request->arrived.model).Push(request);
  ++requests_;
  bytes_ += request->arrived.body;
  request->waiting.next_check = check;
  checks_.insert({check, request->arrived.request});
}

void WaitingRoom::Remove(RequestState* request) {
  lane(request->arrived.model).Remove(request);
  --requests_;
  bytes_ -= request->arrived.body;
  checks_.erase({request->waiting.next_check, request->arrived.request});
}

void WaitingRoom::CheckAt(RequestState* request, Instant check) {
  if (request->waiting.next_check == check) return;
  checks_.erase({request->waiting.next_check, request->arrived.request});
  request->waiting.next_check = check;
  checks_.insert({check, request->arrived.request});
}

void WaitingRoom::Return(RequestState* request, Instant now) {
  lane(request->arrived.model).Return(request, now);
  request->waiting.reason = WaitReason::kBehindOthers;
  request->waiting.ForgetTries();
}

void WaitingRoom::CheckParked(Instant now) {
  std::vector<RequestState*> waiting;
  for (const Lane& lane : lanes_) lane.All(waiting);
  for (RequestState* request : waiting) {
    if (request->waiting.parked) CheckAt(request, std::min(now, request->waiting.next_check));
  }
}

std::optional<std::pair<Instant, RequestId>> WaitingRoom::FirstCheck() const {
  if (checks_.empty()) return std::nullopt;
  return *checks_.begin();
}

bool WaitingRoom::OverLimits(const CoreLimits& limits) const { return QueueIsFull(limits, requests_, bytes_); }

Duration WaitingRoom::RetryAfter(ModelId model, Instant now) const {
  if (model.value() >= lanes_.size()) return BoundedRetryAfter(0);
  const double rate = lane(model).DrainRate(now);
  return BoundedRetryAfter(rate > 0 ? static_cast<double>(lane(model).ready() + 1) / rate : 0);
}

void WaitingRoom::Show(const Fleet& fleet, CoreView& view, Instant now) const {
  for (size_t i = 0; i < lanes_.size(); ++i) {
    for (size_t c = 0; c < fleet.classes.size(); ++c) {
      if (IsVacant(fleet.models[i]) || IsVacant(fleet.classes[c])) continue;
      const ClassId service_class(static_cast<uint32_t>(c));
      LaneView& out = view.lanes.emplace_back();
      out.model = fleet.models[i].name;
      out.service_class = fleet.classes[c].name;
      out.waiting = lanes_[i].size(service_class);
      out.parked = lanes_[i].parked(service_class);
      out.drain_rate = lanes_[i].DrainRate(now);
      if (const RequestState* oldest = lanes_[i].Oldest(service_class)) out.oldest_wait = now - oldest->arrival;
    }
  }
  if (terms_.apart()) ShowShares(fleet, view);
  view.queued_requests = requests_;
  view.queued_bytes = bytes_;
}

void WaitingRoom::ShowShares(const Fleet& fleet, CoreView& view) const {
  absl::flat_hash_map<TenantId, double> leads;
  for (const Lane& lane : lanes_) {
    if (lane.empty()) continue;
    for (uint32_t c = 0; c < fleet.classes.size(); ++c) lane.of(ClassId(c)).waiting.ledger().RaiseLeads(leads);
  }
  for (const TenantSpec& tenant : fleet.tenants) {
    ShareView& share = view.shares.emplace_back();
    share.name = tenant.name;
    share.weight = tenant.weight;
    share.service = terms_.ServiceOf(tenant.id);
    if (const auto lead = leads.find(tenant.id); lead != leads.end()) share.ahead = lead->second;
  }
}

bool WaitingRoom::SumsHold() const {
  int64_t requests = 0;
  Bytes bytes{0};
  bool good = true;
  std::vector<RequestState*> waiting;
  for (const Lane& lane : lanes_) {
    good = good && lane.SumHolds();
    lane.All(waiting);
    requests += static_cast<int64_t>(waiting.size());
    for (const RequestState* request : waiting) {
      bytes += request->arrived.body;
      good = good && request->phase == RequestPhase::kWaiting &&
             checks_.contains({request->waiting.next_check, request->arrived.request});
    }
  }
  return good && requests == requests_ && bytes == bytes_ && checks_.size() == static_cast<size_t>(requests);
}

}  // namespace penstock
