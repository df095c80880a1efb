#include "router/core/pairs/prefillers.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "router/core/contract/admission_checks.h"
#include "router/core/contract/vacancy.h"

namespace penstock {
namespace {

// Step budgets of prompts that may wait in an engine behind the one that it computes, as the guard "runway" has them.
constexpr double kLineBudgets = 2;

}  // namespace

void Prefillers::Configure() {
  const Fleet& fleet = fleet_.spec();
  of_.assign(fleet.models.size(), {});
  lines_.resize(fleet.replicas.size());
  any_ = false;
  for (size_t i = 0; i < fleet.replicas.size(); ++i) {
    const ReplicaSpec& replica = fleet.replicas[i];
    if (IsVacant(replica)) lines_[i] = PrefillLine();
    if (replica.removed || replica.role != EngineRole::kPrefill) continue;
    any_ = true;
    for (const ModelId model : replica.models) of_[model.value()].push_back(i);
  }
}

bool Prefillers::MayTake(size_t replica, const RequestState& request) const {
  const Tokens needed = SurePrompt(request.Prompt(), request.arrived.prompt_sigma);
  return servers_.brief(replica).up && needed <= servers_.Longest(replica) && !request.waiting.Avoids(replica) &&
         fleet_.replicas()[replica].presence.Has(request.arrived.model);
}

bool Prefillers::Serves(const RequestState& request) const {
  const std::vector<size_t>& replicas = Of(request.arrived.model);
  return std::any_of(replicas.begin(), replicas.end(), [&](size_t i) { return MayTake(i, request); });
}

double Prefillers::SecondsOf(const ReplicaState& replica, const PrefillWork& work) const {
  const StepModel& model = replica.steps_model();
  return model.Factor(fleet_.BusyNeighbours(replica)) *
         FirstTokenAlone(model.prior(), work, replica.spec().batch_budget);
}

double Prefillers::SecondsLeft(ReplicaId id) const {
  const ReplicaState& replica = fleet_.replica(id);
  return lines_[id.value()].pace() * SecondsOf(replica, replica.prefills().work());
}

double Prefillers::TransferOf(ReplicaId replica, Tokens tokens) const {
  return lines_[replica.value()].transfer(fleet_.replica(replica).spec().transfer) * tokens.AsDouble();
}

double Prefillers::Least(const RequestState& request) const {
  std::optional<double> least;
  for (const size_t i : Of(request.arrived.model)) {
    if (!MayTake(i, request)) continue;
    const ReplicaState& replica = fleet_.replicas()[i];
    // Counted without cache hits, as everywhere: no prompt is refused for missing them.
    const double own = FirstTokenAlone(replica.steps_model().prior(), UncachedPrefill(Tokens(0), request.Prompt()),
                                       replica.spec().batch_budget) *
                       lines_[i].pace();
    const double here = own + TransferOf(ReplicaId(static_cast<uint32_t>(i)), request.Prompt());
    least = std::min(least.value_or(here), here);
  }
  return least.value_or(0);
}

std::optional<WaitReason> Prefillers::Closed(const ReplicaState& replica) const {
  if (!replica.Placeable()) return WaitReason::kNoReplicaUp;
  if (replica.sequences() >= replica.spec().max_sequences) return WaitReason::kSequences;
  const PrefillBacklog& line = replica.prefills();
  if (line.requests().empty()) return std::nullopt;
  const Tokens behind = line.work().tokens - line.requests().front()->PrefillLeft().tokens;
  const double most = kLineBudgets * replica.spec().batch_budget.AsDouble();
  if (behind.AsDouble() > most) return WaitReason::kRunway;
  return std::nullopt;
}

std::optional<Prefillers::Offer> Prefillers::Choose(std::span<const size_t> replicas, const RequestState& stage,
                                                    RequestState* request, Instant now) {
  std::optional<Offer> best;
  WaitReason reason = WaitReason::kNoReplicaUp;
  for (const size_t i : replicas) {
    const ReplicaState& replica = fleet_.replicas()[i];
    if (!MayTake(i, *request)) continue;
    if (const std::optional<WaitReason> closed = Closed(replica)) {
      reason = HigherRanked(reason, *closed);
      continue;
    }
    growth_.clear();
    const std::optional<double> peak_share = memory_.PeakShareWith(stage, replica, now, growth_);
    if (!peak_share) {
      reason = HigherRanked(reason, WaitReason::kMemory);
      continue;
    }
    const PrefillLine& line = lines_[i];
    const CacheHope hope = replica.HopeFor(stage);
    PrefillWork work = stage.PrefillAfter(hope.expected);
    work.load = hope.load;
    Offer offer{i, line.pace() * SecondsOf(replica, work), 0, 0, *peak_share};
    offer.computed = fleet_.spec().limits.dispatch_delay.seconds() + line.Ahead(now) + offer.own;
    offer.ahead = offer.computed + TransferOf(ReplicaId(static_cast<uint32_t>(i)), stage.Prompt());
    if (best && std::tie(offer.ahead, offer.peak_share) >= std::tie(best->ahead, best->peak_share)) continue;
    best = offer;
    std::swap(best_growth_, growth_);
  }
  if (!best) request->waiting.reason = reason;
  return best;
}

}  // namespace penstock
