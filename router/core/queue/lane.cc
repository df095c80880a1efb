#include "router/core/queue/lane.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>

#include "router/core/contract/vacancy.h"

namespace penstock {
namespace {

// Seconds over which dispatches are averaged: Retry-After follows a change of load within its own least value times
// ten. Untuned.
constexpr double kDrainWindowSeconds = 10;
// Seconds; the rate of the first dispatches is taken over no less.
constexpr double kShortestWindow = 0.1;

// Candidates of each class that the classes above it leave.
size_t LeastCandidates(const std::vector<ClassQueue>& classes) {
  const auto waiting =
      std::count_if(classes.begin(), classes.end(), [](const auto& own) { return !own.waiting.empty(); });
  return std::max(kLeastCandidates, (kLookPast + 1) / std::max<size_t>(1, static_cast<size_t>(waiting)));
}

// Adds the heads of lower classes that credit or their wait promotes.
void Promote(const std::vector<ClassQueue>& classes, const RunningCharges& running, Instant now,
             std::vector<RequestState*>& out) {
  for (auto it = classes.rbegin(); it != classes.rend(); ++it) {
    if (!it->ready() || it->credit <= 0) continue;
    RequestState* head = it->Head();
    if (it->credit < head->Prompt().AsDouble()) continue;
    head->service.guaranteed = true;
    out.push_back(head);
  }
  bool behind = false;
  for (const ClassQueue& own : classes) {
    RequestState* starved = behind ? own.Starved(now) : nullptr;
    if (starved != nullptr && own.waiting.MayGo(*starved, running, now) &&
        std::find(out.begin(), out.end(), starved) == out.end()) {
      starved->service.guaranteed = true;
      out.push_back(starved);
    }
    behind = behind || !own.waiting.empty();
  }
}

}  // namespace

void Lane::Configure(const std::vector<ClassSpec>& classes, bool vacant) {
  const auto idle = [](const ClassQueue& own) { return own.idle(); };
  if (vacant && std::all_of(classes_.begin(), classes_.end(), idle)) *this = Lane(0, terms_);
  while (classes_.size() < classes.size()) classes_.emplace_back(terms_);
  for (size_t i = 0; i < classes.size(); ++i) {
    if (IsVacant(classes[i]) && idle(classes_[i])) classes_[i] = ClassQueue(terms_);
    classes_[i].share = classes[i].share;
    classes_[i].evictable = classes[i].evictable;
    classes_[i].promote_after = classes[i].promote_after;
    classes_[i].waiting.Configure(classes[i].ttft);
  }
}

void Lane::Push(RequestState* request) {
  ClassQueue& own = ClassOf(*request);
  assert(!own.arrivals.contains(request));
  own.Insert(request);
  ++size_;
  if (request->waiting.parked) ++parked_;
}

void Lane::Remove(RequestState* request) {
  ClassQueue& own = ClassOf(*request);
  assert(own.arrivals.contains(request));
  own.Erase(request);
  request->service.guaranteed = request->service.guaranteed || own.credit >= request->Prompt().AsDouble();
  if (!own.ready()) own.LoseCredit();
  --size_;
  if (request->waiting.parked) --parked_;
}

void Lane::Return(RequestState* request, Instant now) {
  ClassQueue& own = ClassOf(*request);
  own.Erase(request);
  --parked_;
  request->waiting.parked = false;
  request->waiting.place = now;
  own.Insert(request);
}

void Lane::SetBestEffort(RequestState* request, bool best_effort) {
  if (request->waiting.best_effort == best_effort) return;
  ClassQueue& own = ClassOf(*request);
  own.Erase(request);
  request->waiting.best_effort = best_effort;
  own.Insert(request);
}

bool Lane::HoldsBack(Instant now) const {
  const RunningCharges running = Running();
  return std::any_of(classes_.begin(), classes_.end(),
                     [=](const ClassQueue& own) { return own.waiting.HoldsBack(running, now); });
}

RunningCharges Lane::Running() const {
  RunningCharges running;
  for (const ClassQueue& own : classes_) running += own.waiting.ledger().running();
  return running;
}

int64_t Lane::PositionOf(const RequestState& request, Instant now) const {
  const ClassQueue& own = of(request.arrived.service_class);
  if (request.waiting.parked) return 0;
  if (!request.waiting.best_effort) return own.waiting.Ahead(request, Running(), now, kCountedAhead);
  const EarlierPlace before;
  int64_t position = std::min(kCountedAhead, static_cast<int64_t>(own.waiting.size()));
  for (auto it = own.best_effort.begin();
       it != own.best_effort.end() && position < kCountedAhead && before(*it, &request); ++it) {
    ++position;
  }
  return position;
}

RequestState* Lane::FirstReady() const {
  for (const ClassQueue& own : classes_) {
    if (own.ready()) return own.Head();
  }
  return nullptr;
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

const RequestState* Lane::OldestReady(ClassId service_class) const {
  const RequestState* returned = nullptr;
  int64_t looked_at = 0;
  for (const RequestState* request : classes_[service_class.value()].arrivals) {
    if (++looked_at > kCountedAhead) break;
    if (request->waiting.parked) continue;
    if (!CameBack(*request)) return request;
    if (returned == nullptr) returned = request;
  }
  return returned;
}

void Lane::All(std::vector<RequestState*>& out) const {
  out.clear();
  for (const ClassQueue& own : classes_) {
    own.waiting.All(out);
    out.insert(out.end(), own.best_effort.begin(), own.best_effort.end());
    out.insert(out.end(), own.parked.begin(), own.parked.end());
  }
}

void Lane::Candidates(std::vector<RequestState*>& out, Instant now) const {
  out.clear();
  const RunningCharges running = Running();
  Promote(classes_, running, now, out);
  const size_t promoted = out.size();
  const auto add = [&out, promoted](RequestState* request) {
    if (std::find(out.begin(), out.begin() + promoted, request) == out.begin() + promoted) out.push_back(request);
  };
  const size_t least = LeastCandidates(classes_);
  size_t below = 0;    // Candidates that the lower classes are sure of.
  size_t company = 0;  // Candidates that take nobody's turn: they wait for a prefill by choice.
  size_t apart = 0;    // So do those that only some servers can take.
  for (const ClassQueue& own : classes_) below += std::min(least, own.waiting.size());
  for (const ClassQueue& own : classes_) {
    below -= std::min(least, own.waiting.size());
    const size_t most = std::max(out.size() + least, kLookPast + 1 - std::min<size_t>(kLookPast + 1, below));
    int own_apart = 0;
    int skipped = 0;
    own.waiting.InOrder(running, now, [&](RequestState* request) {
      const bool only_some = request->service.only_some;
      if (only_some && own_apart >= kLookPast) return ++skipped <= kMostSkipped;
      if (out.size() >= most + company + apart) return false;
      add(request);
      own_apart += only_some ? 1 : 0;
      apart += only_some ? 1 : 0;
      if (request->waiting.company.replica) company = std::min<size_t>(company + 1, kLookPast);
      return true;
    });
  }
  for (const ClassQueue& own : classes_) {
    int behind = 0;
    for (RequestState* request : own.best_effort) {
      add(request);
      if (!request->service.only_some || ++behind > kLookPast) break;
    }
  }
}

void Lane::Dispatched(RequestState& request, Instant now) {
  if (!request.waiting.best_effort && request.requeues == 0) late.Served(now);
  if (!request.waiting.best_effort && request.service.queued) late.Contended(now);
  const double cost = request.Prompt().AsDouble();
  ClassQueue& own = ClassOf(request);
  own.waiting.Charge(request, now);
  own.Pay(cost, now);
  for (size_t i = request.arrived.service_class.value() + 1; i < classes_.size(); ++i) {
    ClassQueue& lower = classes_[i];
    if (!lower.ready()) continue;
    lower.Earn(lower.share * cost, now);
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
  for (const ClassQueue& own : classes_) {
    sum += static_cast<int64_t>(own.arrivals.size());
    parked += static_cast<int64_t>(own.parked.size());
    alike = alike && own.waiting.size() + own.best_effort.size() + own.parked.size() == own.arrivals.size();
    std::vector<RequestState*> waiting;
    own.waiting.All(waiting);
    for (const RequestState* request : waiting) {
      alike = alike && !request->waiting.best_effort && !request->waiting.parked;
    }
    alike = alike && own.waiting.SumHolds();
    for (const RequestState* request : own.best_effort) alike = alike && request->waiting.best_effort;
    for (const RequestState* request : own.parked) alike = alike && request->waiting.parked;
  }
  return alike && sum == size_ && parked == parked_;
}

}  // namespace penstock
