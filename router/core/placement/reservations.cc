#include "router/core/placement/reservations.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace penstock {
namespace {

// The share of the reserved prompt from which a newcomer is about as large: it finds as few gaps. Bound by the
// reservation at once, prompts of one size lost 0.7 % of their tokens (bench/scenarios/long-prompts.yaml).
constexpr double kAsLarge = 0.75;
// Once its patience ended, a reserved request is let first in turns of this many TTFT goals of the higher class.
constexpr double kTurn = 2;
// A turn begins with a pause of the higher class, of this part of its TTFT goal. Later turns have a longer one. So no
// request of the higher class is late for the pause alone, and the pool drains further in each turn.
constexpr double kFirstPause = 0.5;
constexpr double kLaterPause = 0.75;

}  // namespace

void Reservations::Configure() {
  for (const Reservation& reservation : reservations_) reservation.request->waiting.reservation = {};
  reservations_.clear();
  ended_.assign(fleet_.spec().models.size(), std::nullopt);
  pools_.assign(fleet_.pools().size(), {});
}

bool Reservations::Free(const ReplicaState& replica) const {
  const std::vector<PoolShare>& shares = replica.spec().pools;
  return std::all_of(shares.begin(), shares.end(),
                     [&](const PoolShare& share) { return pools_[share.pool.value()].request == nullptr; });
}

void Reservations::Reserve(RequestState* request, ReplicaId replica, Instant at, Instant strict) {
  assert(!request->waiting.reservation.replica && Free(fleet_.replica(replica)));
  request->waiting.reservation.replica = replica;
  reservations_.push_back({request, replica, at});
  for (const PoolShare& share : fleet_.replica(replica).spec().pools) {
    pools_[share.pool.value()] = {request, strict, Instant(), {}};
  }
}

const Reservations::Reservation& Reservations::OfRequest(const RequestState& request) const {
  const auto found = std::find_if(reservations_.begin(), reservations_.end(),
                                  [&](const Reservation& reservation) { return reservation.request == &request; });
  assert(found != reservations_.end());
  return *found;
}

void Reservations::BringForward(const RequestState& request, Instant at) {
  for (Reservation& reservation : reservations_) {
    if (reservation.request == &request) reservation.at = std::min(reservation.at, at);
  }
}

void Reservations::End(RequestState* request, Instant now) {
  if (!request->waiting.reservation.replica) return;
  for (const PoolShare& share : fleet_.replica(*request->waiting.reservation.replica).spec().pools) {
    pools_[share.pool.value()].request = nullptr;
  }
  std::erase_if(reservations_, [&](const Reservation& reservation) { return reservation.request == request; });
  if (Pauses(*request)) ended_[request->arrived.model.value()] = Ended{request->arrived.service_class, now};
  request->waiting.reservation.replica.reset();
  request->waiting.reservation.by_mean = request->waiting.reservation.held_back = false;
}

GrowthVector Reservations::GrowthFrom(Instant at, const RequestState& request, const ReplicaState& replica,
                                      const PoolShare& share, Instant now) const {
  const double start = std::max(0.0, (at - now).seconds());
  GrowthMember member = forecasts_.MemberOf(request, replica, share, forecasts_.PaceOf(replica), now);
  member.starts_in = start;
  GrowthVector growth = ContributionOf(member);
  if (start <= 0) return growth;
  const std::array<double, kHorizons>& seconds = HorizonSeconds();
  const float prompt = growth.mean[0];
  int first = 0;
  for (; first < kHorizons && seconds[first] < start; ++first) growth.mean[first] = growth.variance[first] = 0;
  // The peak's upper cut adds growth to the present amount. The prompt is growth too, since it comes later.
  growth.most_rate += prompt / static_cast<float>(seconds[std::min(first, kHorizons - 1)]);
  return growth;
}

bool Reservations::MayPass(const RequestState& newcomer, const ReservedPool& reserved, Instant now) const {
  const RequestState& request = *reserved.request;
  if (request.waiting.reservation.held_back) return true;
  const bool below = newcomer.arrived.service_class > request.arrived.service_class;
  if (request.waiting.best_effort && !newcomer.waiting.best_effort && !below) return true;
  const bool above = newcomer.arrived.service_class < request.arrived.service_class;
  const bool as_large = newcomer.Prompt().AsDouble() >= kAsLarge * request.Prompt().AsDouble();
  if (!above && !as_large) return false;
  if (now < reserved.strict || (above && !Pauses(request))) return true;
  const double goals = (now - reserved.strict).seconds() / fleet_.GoalsOf(newcomer).ttft.seconds();
  return above && std::fmod(goals, kTurn) >= (goals < kTurn ? kFirstPause : kLaterPause);
}

const GrowthVector* Reservations::Against(const RequestState& newcomer, PoolId pool, Instant now) {
  ReservedPool& reserved = pools_[pool.value()];
  if (reserved.request == nullptr || reserved.request == &newcomer) return nullptr;
  if (MayPass(newcomer, reserved, now)) return nullptr;
  if (reserved.made == Instant() || now - reserved.made >= kFresh) {
    const Reservation& reservation = OfRequest(*reserved.request);
    const ReplicaState& replica = fleet_.replica(reservation.replica);
    const std::vector<PoolShare>& shares = replica.spec().pools;
    const auto share = std::find_if(shares.begin(), shares.end(), [&](const auto& each) { return each.pool == pool; });
    assert(share != shares.end());
    reserved.growth = GrowthFrom(reservation.at, *reserved.request, replica, *share, now);
    reserved.made = now;
  }
  return &reserved.growth;
}

bool Reservations::Disturbs(const RequestState& request, Instant now) const {
  const std::optional<Ended>& ended = ended_[request.arrived.model.value()];
  if (ended && ended->service_class > request.arrived.service_class && now - ended->at < fleet_.GoalsOf(request).ttft) {
    return true;
  }
  return std::any_of(reservations_.begin(), reservations_.end(), [&](const Reservation& reservation) {
    const RequestArrived& arrived = reservation.request->arrived;
    return arrived.model == request.arrived.model && arrived.service_class > request.arrived.service_class &&
           Pauses(*reservation.request);
  });
}

void Reservations::Of(ModelId model, std::vector<RequestState*>& out) const {
  out.clear();
  for (const Reservation& reservation : reservations_) {
    if (reservation.request->arrived.model == model) out.push_back(reservation.request);
  }
}

bool Reservations::SumsHold() const {
  size_t pools = 0;
  for (const Reservation& reservation : reservations_) {
    const RequestState& request = *reservation.request;
    if (request.phase != RequestPhase::kWaiting || request.waiting.reservation.replica != reservation.replica)
      return false;
    for (const PoolShare& share : fleet_.replica(reservation.replica).spec().pools) {
      if (pools_[share.pool.value()].request != &request) return false;
      ++pools;
    }
  }
  const auto held =
      std::count_if(pools_.begin(), pools_.end(), [](const auto& pool) { return pool.request != nullptr; });
  return static_cast<size_t>(held) == pools;
}

}  // namespace penstock
