#include "router/core/pairs/pairs.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

namespace penstock {
namespace {

// Step budgets of a decode replica. Prompts of which at most so much is not cached there have one stage. With half of
// one, a twentieth of the chats of bench/results/pairs/pairs.md were late behind long prompts.
constexpr double kShort = 1;
// A look at so many prefill replicas costs as much as a try on a decode replica. A prompt is charged for the half of an
// event's tries at most: the other half is for its decode replica.
constexpr size_t kPerTry = 4;
constexpr size_t kMostCharged = kTriesPerEvent / 2;

// The prompt of a request, as a request that ends with it.
void MakeStage(const RequestState& request, RequestState* stage) {
  stage->arrived = request.arrived;
  stage->arrived.request = StageOf(request.arrived.request);
  stage->arrived.embedding = true;
  stage->arrived.observed = true;
  // Its owner may be recalled, never the stage.
  stage->arrived.regenerable = false;
  stage->arrived.max_output = Tokens(0);
  stage->arrived.session = 0;
  stage->arrival = request.arrival;
  stage->sequence = request.sequence;
  stage->kept = request.kept;
}

}  // namespace

bool Pairs::IsShort(const RequestState& request) const {
  const double left = (request.Prompt() - request.waiting.cached).AsDouble();
  const std::vector<size_t>& servers = books_.servers.Of(request.arrived.model);
  return std::any_of(servers.begin(), servers.end(), [&](size_t i) {
    return left <= kShort * books_.fleet.replicas()[i].spec().batch_budget.AsDouble();
  });
}

void Pairs::Prepare(RequestState* request) const {
  const RequestArrived& arrived = request->arrived;
  request->stage = StageState();
  if (!prefillers_.any() || !arrived.divisible || arrived.embedding || arrived.sequences != 1 || arrived.home) return;
  request->stage.apart = !IsShort(*request) && prefillers_.Serves(*request);
  if (request->stage.apart) request->stage.least = prefillers_.Least(*request);
}

std::span<const size_t> Pairs::ToTry(RequestState* request) {
  const std::vector<size_t>& replicas = prefillers_.Of(request->arrived.model);
  StageTries& tries = request->waiting.staged;
  if (tries.no_prefill) {
    opened_.clear();
    std::copy_if(books_.work.opened().begin(), books_.work.opened().end(), std::back_inserter(opened_),
                 [&](size_t i) { return std::binary_search(replicas.begin(), replicas.end(), i); });
    return opened_;
  }
  if (books_.work.budget() == 0) return {};
  books_.work.Charge(std::min(kMostCharged, 1 + replicas.size() / kPerTry));
  tries.no_prefill = true;
  return replicas;
}

bool Pairs::Choose(RequestState* request, Instant now) {
  if (!request->stage.apart) return true;
  std::optional<Prefillers::Offer> offer;
  if (const std::span<const size_t> replicas = ToTry(request); !replicas.empty()) {
    candidate_ = std::make_unique<RequestState>();
    MakeStage(*request, candidate_.get());
    books_.forecasts.Prepare(candidate_.get());
    offer = prefillers_.Choose(replicas, *candidate_, request, now);
  }
  request->stage.blocked = !offer.has_value();
  if (!offer) {
    // Decode replicas that open meanwhile are missed.
    request->waiting.tries.Forget();
    return false;
  }
  request->waiting.staged.no_prefill = false;
  offer_ = *offer;
  request->stage.ahead = offer->ahead;
  return true;
}

std::optional<PrefillOrder> Pairs::Send(RequestState* request, Instant now) {
  if (!request->stage.apart) return std::nullopt;
  const ReplicaId id(static_cast<uint32_t>(offer_.replica));
  assert(candidate_ != nullptr && candidate_->arrived.request == StageOf(request->arrived.request));
  RequestState* stage = books_.requests.Add(std::move(candidate_));
  request->stage.open = true;
  prefillers_.line(id).Sent(offer_.own, now);
  books_.running.Start(stage, id, prefillers_.growth(), offer_.computed, now);
  return PrefillOrder{id, stage->running.lease, Duration::Seconds(offer_.ahead)};
}

std::optional<ReplicaId> Pairs::ReplicaOf(const RequestState& request) const {
  if (!request.stage.open) return std::nullopt;
  return books_.requests.Find(StageOf(request.arrived.request))->running.replica;
}

void Pairs::Leave(RequestState* stage, Instant free_at, Instant now) {
  const ReplicaId id = stage->running.replica;
  const bool in_line = stage->phase == RequestPhase::kPrefilling;
  books_.running.Leave(stage, now);
  if (free_at > now) {
    books_.fleet.ledger().Drain(stage->running.lease, free_at);
  } else {
    books_.fleet.ledger().Release(stage->running.lease);
  }
  if (in_line) prefillers_.line(id).Left(prefillers_.SecondsLeft(id), now);
  books_.work.Open(books_.fleet.replica(id));
  books_.requests.Erase(stage->arrived.request);
}

void Pairs::Ended(const PrefillEnded& event, Instant now) {
  RequestState* request = books_.requests.Find(event.request);
  if (request == nullptr || !request->stage.open) return;
  RequestState* stage = books_.requests.Find(StageOf(event.request));
  if (stage->phase != RequestPhase::kPrefilling) return;
  const ReplicaId id = stage->running.replica;
  ReplicaState& replica = books_.fleet.replica(id);
  const CacheHope hope = stage->running.hope;
  const Tokens cached = event.cached >= Tokens(0) ? event.cached : hope.expected;
  PrefillWork work = stage->PrefillAfter(cached);
  work.load = hope.load;
  const double expected = prefillers_.SecondsOf(replica, work);
  const Instant sent = stage->running.dispatched + books_.fleet.spec().limits.dispatch_delay;
  books_.running.TakeFirstToken(stage, now);
  books_.running.Finish(stage, event.cached);
  prefillers_.line(id).Computed(sent, expected, prefillers_.SecondsLeft(id), now);
  books_.work.Open(replica);
  if (!event.handed_over) {
    Leave(stage, now, now);
    return ComputeHere(request, now);
  }
  const double decode = std::max(0.0, request->stage.decode);
  request->stage.ended_at = now;
  request->running.first_expected = now + Duration::Seconds(prefillers_.TransferOf(id, request->Prompt()) + decode);
  if (!request->arrived.observed) unseen_.push_back(event.request);
}

void Pairs::ComputeHere(RequestState* request, Instant now) {
  request->stage = StageState();
  if (request->phase != RequestPhase::kPrefilling) return;
  ReplicaState& replica = books_.fleet.replica(request->running.replica);
  replica.ComputePrompt(request);
  const double own = prefillers_.SecondsOf(replica, replica.prefills().work());
  request->running.first_expected = now + Duration::Seconds(own);
}

void Pairs::HandedOver(RequestState* request, Instant now) {
  if (!request->stage.open) return;
  RequestState* stage = books_.requests.Find(StageOf(request->arrived.request));
  // An engine that computed the prompt itself says nothing of a transfer.
  if (stage->phase == RequestPhase::kDecoding && request->arrived.observed) {
    const double seconds = (now - request->stage.ended_at).seconds() - request->stage.decode;
    prefillers_.line(stage->running.replica).HandedOver(request->Prompt(), seconds);
  }
  request->stage.open = false;
  Leave(stage, now, now);
}

void Pairs::Review(Instant now) {
  std::erase_if(unseen_, [&](RequestId id) {
    RequestState* request = books_.requests.Find(id);
    if (request == nullptr || !request->stage.open) return true;
    if (request->running.first_expected > now) return false;
    HandedOver(request, now);
    return true;
  });
}

void Pairs::End(RequestState* request, Instant now) {
  if (!request->stage.open) return;
  request->stage.open = false;
  RequestState* stage = books_.requests.Find(StageOf(request->arrived.request));
  const Duration hold = books_.fleet.replica(stage->running.replica).spec().abort_hold;
  Leave(stage, now + hold, now);
}

}  // namespace penstock
