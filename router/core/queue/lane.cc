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
// Tokens that a class may save beyond its head's prompt, about one step budget. A class whose head was blocked for an
// hour so does not go first for minutes. Untuned.
constexpr double kCreditBeyondHead = 2048;
// Seconds over which dispatches are averaged: Retry-After follows a change of load within its own least value times
// ten. Untuned.
constexpr double kDrainWindowSeconds = 10;
// Seconds; the rate of the first dispatches is taken over no less.
constexpr double kShortestWindow = 0.1;

}  // namespace

void Lane::Push(RequestState* request) {
  PerClass& own = classes_[request->arrived.service_class.value()];
  const bool added = own.OrderOf(*request).insert(request).second && own.arrivals.insert(request).second;
  assert(added);
  static_cast<void>(added);
  ++size_;
  if (request->waiting.parked) ++parked_;
}

void Lane::Remove(RequestState* request) {
  PerClass& own = classes_[request->arrived.service_class.value()];
  const size_t erased = own.OrderOf(*request).erase(request);
  assert(erased == 1);
  static_cast<void>(erased);
  own.arrivals.erase(request);
  if (!own.ready()) own.credit = 0;
  --size_;
  if (request->waiting.parked) --parked_;
}

void Lane::Return(RequestState* request, Instant now) {
  PerClass& own = classes_[request->arrived.service_class.value()];
  own.parked.erase(request);
  --parked_;
  request->waiting.parked = false;
  request->waiting.place = now;
  own.waiting.insert(request);
}

void Lane::SetBestEffort(RequestState* request, bool best_effort) {
  if (request->waiting.best_effort == best_effort) return;
  PerClass& own = classes_[request->arrived.service_class.value()];
  own.OrderOf(*request).erase(request);
  request->waiting.best_effort = best_effort;
  own.OrderOf(*request).insert(request);
}

void Lane::AddClasses(size_t classes) {
  if (classes > classes_.size()) classes_.resize(classes);
}

int64_t Lane::PositionOf(const RequestState& request) const {
  const PerClass& own = classes_[request.arrived.service_class.value()];
  const Before before;
  int64_t position = 0;
  const auto count = [&](const Order& order) {
    for (auto it = order.begin(); it != order.end() && position < kCountedAhead && before(*it, &request); ++it) {
      ++position;
    }
  };
  if (request.waiting.parked) return 0;
  if (!request.waiting.best_effort) {
    count(own.waiting);
  } else {
    position = std::min(kCountedAhead, static_cast<int64_t>(own.waiting.size()));
    count(own.best_effort);
  }
  return position;
}

RequestState* Lane::First() const {
  assert(size_ > 0);
  const auto first = std::find_if(classes_.begin(), classes_.end(), [](const auto& own) { return !own.empty(); });
  return first->Head();
}

const RequestState* Lane::Oldest(ClassId service_class) const {
  const auto& arrivals = classes_[service_class.value()].arrivals;
  return arrivals.empty() ? nullptr : *arrivals.begin();
}

void Lane::All(std::vector<RequestState*>& out) const {
  out.clear();
  for (const PerClass& own : classes_) {
    out.insert(out.end(), own.waiting.begin(), own.waiting.end());
    out.insert(out.end(), own.best_effort.begin(), own.best_effort.end());
    out.insert(out.end(), own.parked.begin(), own.parked.end());
  }
}

size_t Lane::LeastCandidates() const {
  const auto waiting =
      std::count_if(classes_.begin(), classes_.end(), [](const auto& own) { return !own.waiting.empty(); });
  return std::max(kLeastCandidates, (kLookPast + 1) / std::max<size_t>(1, static_cast<size_t>(waiting)));
}

void Lane::Candidates(std::vector<RequestState*>& out) const {
  out.clear();
  // A lower class whose credit covers its head goes before the classes above it.
  for (auto it = classes_.rbegin(); it != classes_.rend(); ++it) {
    if (!it->ready() || it->credit <= 0) continue;
    RequestState* head = it->Head();
    if (it->credit >= head->Prompt().AsDouble()) out.push_back(head);
  }
  const size_t promoted = out.size();
  const auto add = [&out, promoted](RequestState* request) {
    if (std::find(out.begin(), out.begin() + promoted, request) == out.begin() + promoted) out.push_back(request);
  };
  const size_t least = LeastCandidates();
  size_t below = 0;  // Candidates that the lower classes are sure of.
  for (const PerClass& own : classes_) below += std::min(least, own.waiting.size());
  for (const PerClass& own : classes_) {
    below -= std::min(least, own.waiting.size());
    const size_t most = std::max(out.size() + least, kLookPast + 1 - std::min<size_t>(kLookPast + 1, below));
    for (RequestState* request : own.waiting) {
      if (out.size() >= most) break;
      add(request);
    }
  }
  const auto first =
      std::find_if(classes_.begin(), classes_.end(), [](const auto& own) { return !own.best_effort.empty(); });
  if (first != classes_.end()) add(*first->best_effort.begin());
}

void Lane::Dispatched(const RequestState& request, Instant now) {
  if (!request.waiting.best_effort && request.requeues == 0) late_.Served(now);
  const double cost = request.Prompt().AsDouble();
  PerClass& own = classes_[request.arrived.service_class.value()];
  own.credit = std::max(0.0, own.credit - cost);
  for (size_t i = request.arrived.service_class.value() + 1; i < classes_.size(); ++i) {
    PerClass& lower = classes_[i];
    if (!lower.ready()) continue;
    const double most = lower.Head()->Prompt().AsDouble() + kCreditBeyondHead;
    lower.credit = std::min(lower.credit + kGuaranteedShare * cost, most);
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
  int64_t parked = 0;
  bool alike = true;
  for (const PerClass& own : classes_) {
    sum += static_cast<int64_t>(own.arrivals.size());
    parked += static_cast<int64_t>(own.parked.size());
    alike = alike && own.waiting.size() + own.best_effort.size() + own.parked.size() == own.arrivals.size();
    for (const RequestState* request : own.waiting) {
      alike = alike && !request->waiting.best_effort && !request->waiting.parked;
    }
    for (const RequestState* request : own.best_effort) alike = alike && request->waiting.best_effort;
    for (const RequestState* request : own.parked) alike = alike && request->waiting.parked;
  }
  return alike && sum == size_ && parked == parked_;
}

}  // namespace penstock
