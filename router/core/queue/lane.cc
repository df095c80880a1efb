#include "router/core/queue/lane.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>

namespace penstock {
namespace {

// Of the dispatched tokens, to each waiting lower class: keeps background work from starving behind a full class.
// Untuned: no table in bench/results varies it.
constexpr double kGuaranteedShare = 0.05;
// Seconds over which dispatches are averaged: Retry-After follows a change of load within its own least value times
// ten. Untuned.
constexpr double kDrainWindowSeconds = 10;
// Seconds; the rate of the first dispatches is taken over no less.
constexpr double kShortestWindow = 0.1;

}  // namespace

void Lane::Push(RequestState* request) {
  PerClass& own = classes_[request->arrived.service_class.value()];
  const bool added = own.waiting.insert(request).second && own.arrivals.insert(request).second;
  assert(added);
  static_cast<void>(added);
  ++size_;
}

void Lane::Remove(RequestState* request) {
  PerClass& own = classes_[request->arrived.service_class.value()];
  const size_t erased = own.waiting.erase(request);
  assert(erased == 1);
  static_cast<void>(erased);
  own.arrivals.erase(request);
  if (own.waiting.empty()) own.credit = 0;
  --size_;
}

void Lane::AddClasses(size_t classes) {
  if (classes > classes_.size()) classes_.resize(classes);
}

int64_t Lane::PositionOf(const RequestState& request) const {
  const auto& waiting = classes_[request.arrived.service_class.value()].waiting;
  const Before before;
  int64_t position = 0;
  for (auto it = waiting.begin(); it != waiting.end() && position < kCountedAhead && before(*it, &request); ++it) {
    ++position;
  }
  return position;
}

RequestState* Lane::First() const {
  assert(size_ > 0);
  const auto first =
      std::find_if(classes_.begin(), classes_.end(), [](const auto& own) { return !own.waiting.empty(); });
  return *first->waiting.begin();
}

const RequestState* Lane::Oldest(ClassId service_class) const {
  const auto& arrivals = classes_[service_class.value()].arrivals;
  return arrivals.empty() ? nullptr : *arrivals.begin();
}

void Lane::All(std::vector<RequestState*>& out) const {
  out.clear();
  for (const PerClass& own : classes_) out.insert(out.end(), own.waiting.begin(), own.waiting.end());
}

void Lane::Candidates(std::vector<RequestState*>& out) const {
  out.clear();
  const size_t most = kLookPast + 1;
  // A lower class whose credit covers its head goes before the classes above it.
  for (auto it = classes_.rbegin(); it != classes_.rend(); ++it) {
    if (it->waiting.empty() || it->credit <= 0) continue;
    RequestState* head = *it->waiting.begin();
    if (it->credit >= head->Prompt().AsDouble()) out.push_back(head);
  }
  const size_t promoted = out.size();
  for (const PerClass& own : classes_) {
    for (RequestState* request : own.waiting) {
      if (out.size() >= most) return;
      if (std::find(out.begin(), out.begin() + promoted, request) == out.begin() + promoted) out.push_back(request);
    }
  }
}

void Lane::Dispatched(const RequestState& request, Instant now) {
  const double cost = request.Prompt().AsDouble();
  PerClass& own = classes_[request.arrived.service_class.value()];
  own.credit = std::max(0.0, own.credit - cost);
  for (size_t i = request.arrived.service_class.value() + 1; i < classes_.size(); ++i) {
    if (!classes_[i].waiting.empty()) classes_[i].credit += kGuaranteedShare * cost;
  }
  if (first_dispatch_ == Instant::Never()) first_dispatch_ = now;
  drain_weight_ = drain_weight_ * std::exp(-(now - drain_at_).seconds() / kDrainWindowSeconds) + 1;
  drain_at_ = now;
}

double Lane::DrainRate(Instant now) const {
  if (first_dispatch_ == Instant::Never()) return 0;
  const double weight = drain_weight_ * std::exp(-(now - drain_at_).seconds() / kDrainWindowSeconds);
  const double window = std::min((now - first_dispatch_).seconds(), kDrainWindowSeconds);
  return weight / std::max(kShortestWindow, window);
}

bool Lane::SumHolds() const {
  int64_t sum = 0;
  bool alike = true;
  for (const PerClass& own : classes_) {
    sum += static_cast<int64_t>(own.waiting.size());
    alike = alike && own.waiting.size() == own.arrivals.size();
  }
  return alike && sum == size_;
}

}  // namespace penstock
