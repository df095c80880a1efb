#include "router/core/books/lending.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

// A stream that needs its memory for a larger part of the time is not parked. With 0.5 small pools lost 1 % of the
// tokens, and long outputs gained nothing.
constexpr double kMostDuty = 0.3;
// A stream is back in its lane before its next token is due. It has these seconds, its TTFT, and the time to compute
// its context. A client that got its first token at once and the others at the promised pace then sees no pause.
constexpr double kReturnLead = 4;
// A stream that is parked is ahead by so many seconds and twice the time to compute its context. With 10, twice the
// load carried cost more work.
constexpr double kLeastAhead = 30;
// The time away, over the time to compute the context again. With 10, prompts of 16k tokens lost 2 % of the tokens.
constexpr double kLeastGain = 40;

}  // namespace

bool Lending::OverflowsFatally(const ReplicaState& replica) const {
  const std::vector<PoolShare>& shares = replica.spec().pools;
  return std::any_of(shares.begin(), shares.end(),
                     [&](const PoolShare& share) { return fleet_.pool(share.pool).spec().overflow_fatal; });
}

double Lending::DutyOf(const RequestState& request, const ReplicaState& replica, double pace) const {
  const RequestArrived& arrived = request.arrived;
  const ClassSpec& goals = fleet_.GoalsOf(request);
  const bool may = !closed_ && goals.parking && goals.refuse_late && arrived.regenerable && arrived.continues &&
                   arrived.observed && !arrived.whole && !arrived.embedding && arrived.sequences == 1 &&
                   request.parkings < kMostParkings;
  if (!may || OverflowsFatally(replica)) return 1;
  const double duty = 1 / std::max(1e-9, pace * goals.tpot.seconds());
  return duty < kMostDuty ? duty : 1;
}

double Lending::RestartOf(const RequestState& request, const ReplicaState& replica) const {
  const int busy = fleet_.BusyNeighbours(replica);
  const Tokens context = request.Prompt() + Tokens(replica.streams().Generated(request));
  const double chunks = std::ceil(context.AsDouble() / std::max(1.0, replica.spec().batch_budget.AsDouble()));
  const double prefill = replica.steps_model().PriceOfPrefill(busy).Of(PrefillOf(Tokens(0), context));
  return chunks * replica.DecodeStep(busy) + prefill;
}

double Lending::SunkCostOf(const RequestState& request, const ReplicaState& replica) const {
  if (request.phase == RequestPhase::kDecoding) return RestartOf(request, replica);
  const Tokens computed = std::max(Tokens(0), request.Prompt() - request.running.prefill_left);
  return replica.steps_model().PriceOfPrefill(fleet_.BusyNeighbours(replica)).Of(PrefillOf(Tokens(0), computed));
}

bool Lending::MayPark(const RequestState& request, const ReplicaState& replica, double pace, Instant now) const {
  if (request.phase != RequestPhase::kDecoding || DutyOf(request, replica, pace) >= 1) return false;
  const double ahead = (replica.streams().DueOf(request) - now).seconds();
  if (ahead < kLeastAhead) return false;
  const double restart = RestartOf(request, replica);
  const double lead = kReturnLead + fleet_.GoalsOf(request).ttft.seconds();
  return ahead >= kLeastAhead + 2 * restart && ahead - lead - restart >= kLeastGain * restart;
}

LendingPart Lending::PartOf(const RequestState& request, const ReplicaState& replica, Amount held, double pace,
                            Instant now) const {
  LendingPart part;
  part.needed = Amount(std::llround(held.AsDouble() * DutyOf(request, replica, pace)));
  if (MayPark(request, replica, pace, now)) part.lendable = held;
  return part;
}

Instant Lending::BeginLoan(RequestState* request) {
  ++request->parkings;
  for (const PoolMembership& in : request->pools) {
    const Loan loan{in.pool, in.holding.held, std::min(in.holding.held, in.member.lending.needed)};
    request->loans.push_back(loan);
    fleet_.pool(in.pool).lending().Lend(loan);
  }
  const ClassSpec& goals = fleet_.GoalsOf(*request);
  const Instant due = request->arrival + goals.ttft + goals.tpot * request->kept.value();
  const double restart = RestartOf(*request, fleet_.replica(request->running.replica));
  return due - goals.ttft - Duration::Seconds(kReturnLead + restart);
}

void Lending::EndLoan(RequestState* request) {
  for (const Loan& loan : request->loans) fleet_.pool(loan.pool).lending().End(loan);
  request->loans.clear();
}

}  // namespace penstock
