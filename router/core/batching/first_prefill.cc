#include "router/core/batching/first_prefill.h"

#include <algorithm>

namespace penstock {
namespace {

// The part of the TTFT goal that a request which waits by choice may use; the rest covers the noise of the forecast.
constexpr double kSafePart = 0.9;
// A second of a GPU that others need is worth so many seconds of a wait that nobody notices. From 3 to 5 are alike on
// bench/scenarios/fanout.yaml; 1 saves a fifth less.
constexpr double kWorth = 4;
// A request waits no longer than so many times what was expected at first.
constexpr double kMostWait = 4;
// Replicas of a large fleet that a request may wait for, those that hold most of its prompt first: each costs about a
// microsecond.
constexpr size_t kMostOffers = 8;

}  // namespace

bool FirstPrefill::HasRoom(const RequestState& request, const ReplicaState& replica, Instant now) const {
  const std::vector<PoolShare>& pools = replica.spec().pools;
  return std::all_of(pools.begin(), pools.end(),
                     [&](const PoolShare& share) { return memory_.Missing(request, replica, share, now) <= 0; });
}

bool FirstPrefill::ClosedForAWhile(const GuardQuestion& question) const {
  const std::optional<WaitReason> broken = FirstBroken(guards_, question);
  return broken == WaitReason::kRunway || broken == WaitReason::kRunningStreams;
}

std::optional<FirstPrefill::Offer> FirstPrefill::OfferOf(const RequestState& request, size_t index,
                                                         const Choice& choice, Instant now) const {
  const ReplicaState& replica = fleet_.replicas()[index];
  if (!replica.Placeable()) return std::nullopt;
  GuardQuestion question = QuestionFor(request, replica, fleet_, now);
  const double saved = question.outlook.price.Of(PrefillOf(Tokens(0), question.cached)) - question.outlook.load;
  question.outlook.queued += ahead_[index];
  if (request.waiting.company.replica == ReplicaId(static_cast<uint32_t>(index))) {
    question.outlook.queued -= request.waiting.company.own;
  }
  const double first_token = question.outlook.ExpectedTtft();
  const double gain = kWorth * (saved - choice.saved) - (first_token - choice.expected_ttft);
  if (gain <= 0 || saved <= choice.saved) return std::nullopt;
  const double waited = (now - request.arrival).seconds();
  if (waited + first_token > kSafePart * question.goals().ttft.seconds()) return std::nullopt;
  if (!ClosedForAWhile(question) || !HasRoom(request, replica, now)) return std::nullopt;
  return Offer{index, first_token, gain, request.PrefillAfter(question.cached)};
}

std::optional<FirstPrefill::Offer> FirstPrefill::BestOffer(const RequestState& request, const Choice& choice,
                                                           Instant now) {
  const std::optional<ReplicaId> own = request.waiting.company.replica;
  if (own && own->value() != choice.replica && IsLarge(request)) {
    if (const std::optional<Offer> offer = OfferOf(request, own->value(), choice, now)) return offer;
  }
  std::optional<Offer> best;
  size_t asked = 0;
  servers_.DeepestHolders(request, holders_);
  if (IsLarge(request)) holders_.resize(std::min(kMostOffers, holders_.size()));
  std::sort(holders_.begin(), holders_.end(),
            [](const Servers::Holder& a, const Servers::Holder& b) { return a.server < b.server; });
  for (const auto& [index, most] : holders_) {
    if (index == choice.replica || !request.MayUse(index)) continue;
    const std::optional<Offer> offer = OfferOf(request, index, choice, now);
    ++asked;
    if (offer && (!best || offer->gain > best->gain)) best = offer;
  }
  if (IsLarge(request)) work_.Charge(asked);
  return best;
}

bool FirstPrefill::Waits(RequestState* request, const Choice& choice, Instant now) {
  CompanyState& company = request->waiting.company;
  if (!on_ || request->kept > Tokens(0) || request->arrived.prefix.empty() || now >= company.until) {
    End(request);
    return false;
  }
  const std::optional<Offer> best = BestOffer(*request, choice, now);
  End(request);
  if (!best) return false;
  if (company.until == Instant::Never()) company.until = now + Duration::Seconds(kMostWait * best->first_token);
  company.replica = ReplicaId(static_cast<uint32_t>(best->replica));
  company.own = best->own;
  company.left_saved = choice.saved;
  company.left_first_token = choice.expected_ttft;
  ahead_[best->replica] += best->own;
  request->waiting.reason = WaitReason::kFirstPrefill;
  return true;
}

bool FirstPrefill::WaitsOn(const RequestState& request) const {
  const CompanyState& company = request.waiting.company;
  if (!company.replica || !request.waiting.tries.everywhere || !IsLarge(request)) return false;
  const std::vector<size_t>& opened = work_.opened();
  return std::find(opened.begin(), opened.end(), company.replica->value()) == opened.end();
}

bool FirstPrefill::EndWhereVain(RequestState* request, Instant now) {
  const CompanyState& company = request->waiting.company;
  if (!company.replica || !request->waiting.tries.everywhere || !IsLarge(*request)) return false;
  Choice left;
  left.saved = company.left_saved;
  left.expected_ttft = company.left_first_token;
  if (OfferOf(*request, company.replica->value(), left, now)) return false;
  End(request);
  request->waiting.ForgetTries();
  return true;
}

void FirstPrefill::End(RequestState* request) {
  CompanyState& company = request->waiting.company;
  if (!company.replica) return;
  ahead_[company.replica->value()] -= company.own;
  company.replica.reset();
}

bool FirstPrefill::EndWhereLost(RequestState* request) {
  const std::optional<ReplicaId> replica = request->waiting.company.replica;
  if (!replica || fleet_.replica(*replica).Placeable()) return false;
  End(request);
  return true;
}

bool FirstPrefill::SumsHold(std::span<RequestState* const> waiting) const {
  std::vector<PrefillWork> sums(ahead_.size());
  for (const RequestState* request : waiting) {
    const CompanyState& company = request->waiting.company;
    if (company.replica) sums[company.replica->value()] += company.own;
  }
  return sums == ahead_;
}

}  // namespace penstock
