#include "app/shadow/counterfactual.h"

#include <algorithm>
#include <utility>

#include "app/shadow/fleet_twin.h"

namespace penstock {
namespace {

// The copies advance in steps of virtual time, so that a caller can stop them.
constexpr Duration kSlice = Duration::Milliseconds(250);

}  // namespace

Counterfactual::Counterfactual(CoreMaker make, Learned learned, uint64_t seed)
    : make_(std::move(make)), learned_(std::move(learned)), seed_(seed), lengths_(seed) {}

void Counterfactual::SetFleet(const Fleet& fleet) {
  if (fleet_.fleet && *fleet_.fleet == fleet) return;
  fleet_.fleet = fleet;
  fleet_.heard_down.resize(fleet.replicas.size(), true);
  fleet_.down.resize(fleet.replicas.size(), true);
  fleet_.changed = true;
}

void Counterfactual::SetHealth(ReplicaId replica, Health health, Instant now) {
  if (replica.value() >= fleet_.heard_down.size()) return;
  const bool down = health == Health::kDown;
  if (fleet_.heard_down[replica.value()] == down) return;
  fleet_.heard_down[replica.value()] = down;
  Pending change;
  change.at = now;
  change.known = true;
  change.changed = replica;
  change.down = down;
  pending_.push_back(std::move(change));
}

void Counterfactual::Arrived(const RequestArrived& request, Instant now) {
  Pending pending;
  pending.at = now;
  pending.id = request.request;
  bench::SimulatedArrival& arrival = pending.arrival;
  arrival.model = request.model;
  arrival.service_class = request.service_class;
  arrival.tenant = request.tenant;
  arrival.prompt = std::max(Tokens(1), request.prompt);
  arrival.max_output = request.max_output;
  arrival.observed = request.observed && !request.embedding;
  arrival.prefix = request.prefix;
  positions_[request.request] = first_position_ + pending_.size();
  pending_.push_back(std::move(pending));
}

void Counterfactual::Ended(const TrackedRequest& tracked, const RequestClosed* closed, const Service& service,
                           Instant now) {
  const auto found = positions_.find(tracked.request.request);
  if (found == positions_.end()) return;
  Pending& pending = pending_[found->second - first_position_];
  positions_.erase(found);
  pending.known = true;
  pending.real = service;
  pending.refused = closed == nullptr;
  bench::SimulatedArrival& arrival = pending.arrival;
  const ModelId model = arrival.model;
  const Tokens limit = arrival.max_output;
  if (closed == nullptr) {
    arrival.output = lengths_.Draw(model, Tokens(1), limit);
    ++sums_.drawn;
    return;
  }
  if (closed->prompt > Tokens(0)) arrival.prompt = closed->prompt;
  const Tokens output(closed->output.value() / std::max(1, tracked.request.sequences));
  if (closed->outcome == Outcome::kFinished) {
    arrival.output = std::max(Tokens(1), output);
    if (!tracked.request.embedding) lengths_.Add(model, arrival.output);
    return;
  }
  arrival.output = lengths_.Draw(model, output + Tokens(1), limit);
  ++sums_.drawn;
  if (closed->outcome != Outcome::kClientGone) return;
  arrival.vanishes = now - pending.at;
  pending.compared = false;
  ++sums_.left_out;
}

void Counterfactual::Forget() {
  for (Pending& pending : pending_) {
    if (!pending.known) Complete(pending);
  }
  positions_.clear();
}

// Nobody will tell how the request ends.
void Counterfactual::Complete(Pending& pending) {
  bench::SimulatedArrival& arrival = pending.arrival;
  arrival.output = lengths_.Draw(arrival.model, Tokens(1), arrival.max_output);
  pending.known = true;
  pending.compared = false;
  ++sums_.drawn;
  ++sums_.left_out;
  positions_.erase(pending.id);
}

bool Counterfactual::Ready(const Pending& pending, Instant now) const {
  return pending.known || now - pending.at > kPatience || pending_.size() > kMostPending;
}

bool Counterfactual::NeedsStart(Instant at) {
  if (fleet_.changed) return true;
  if (copies_.decides == nullptr) return false;
  if (copies_.offered >= kMostRequests || at - copies_.started > kLongest) return true;
  if (!learned_ || at - copies_.reviewed < kReview) return false;
  copies_.reviewed = at;
  return DriftOf(copies_.learned, learned_()) > kDrift;
}

void Counterfactual::Start(Instant at) {
  fleet_.changed = false;
  copies_ = Copies();
  if (!fleet_.fleet) return;
  if (learned_) copies_.learned = learned_();
  absl::StatusOr<bench::SimulatedFleetSpec> spec = TwinOf(*fleet_.fleet, copies_.learned);
  sums_.unavailable = spec.ok() ? "" : std::string(spec.status().message());
  if (!spec.ok()) return;
  copies_.started = copies_.reached = copies_.reviewed = at;
  copies_.replicas = spec->replicas.size();
  copies_.decides = std::make_unique<TwinRun>(*spec, make_(false), seed_);
  copies_.shadow = std::make_unique<TwinRun>(*std::move(spec), make_(true), seed_);
  copies_.decides->AdvanceTo(Instant());
  copies_.shadow->AdvanceTo(Instant());
  for (size_t i = 0; i < fleet_.down.size(); ++i) {
    if (!fleet_.down[i]) continue;
    copies_.decides->SetDown(i, true, Instant());
    copies_.shadow->SetDown(i, true, Instant());
  }
  ++sums_.starts;
}

void Counterfactual::Feed(const Pending& pending) {
  const Instant at = std::max(InCopy(pending.at), InCopy(copies_.reached));
  if (pending.changed) {
    // A replica that came later is up to the next start.
    if (pending.changed->value() >= copies_.replicas) return;
    copies_.decides->SetDown(pending.changed->value(), pending.down, at);
    copies_.shadow->SetDown(pending.changed->value(), pending.down, at);
    return;
  }
  bench::SimulatedArrival arrival = pending.arrival;
  arrival.at = at - Instant();
  const uint64_t number = copies_.decides->Offer(arrival);
  copies_.shadow->Offer(arrival);
  copies_.requests[number] = {pending.compared, pending.refused, pending.real, std::nullopt, std::nullopt};
  ++copies_.offered;
}

bool Counterfactual::Advance(Instant now, const std::function<bool()>& may_go_on) {
  while (!pending_.empty() && Ready(pending_.front(), now)) {
    Pending& front = pending_.front();
    if (!RunTo(front.at, may_go_on)) return true;
    if (!front.known) Complete(front);
    if (!front.changed && NeedsStart(front.at)) Start(front.at);
    if (front.changed) fleet_.down[front.changed->value()] = front.down;
    if (copies_.decides != nullptr) Feed(front);
    pending_.pop_front();
    ++first_position_;
  }
  return !RunTo(pending_.empty() ? now : std::min(now, pending_.front().at), may_go_on);
}

bool Counterfactual::RunTo(Instant until, const std::function<bool()>& may_go_on) {
  if (copies_.decides == nullptr) return true;
  while (copies_.reached < until) {
    if (!may_go_on()) return false;
    const Instant next = std::min(until, copies_.reached + kSlice);
    copies_.decides->AdvanceTo(InCopy(next));
    copies_.shadow->AdvanceTo(InCopy(next));
    sums_.seconds += (next - copies_.reached).seconds();
    copies_.reached = next;
    Collect();
  }
  return true;
}

void Counterfactual::Collect() {
  for (const TwinRun::Ended& ended : copies_.decides->TakeEnded()) Take(ended.request, ended, false);
  for (const TwinRun::Ended& ended : copies_.shadow->TakeEnded()) Take(ended.request, ended, true);
}

void Counterfactual::Take(uint64_t request, const TwinRun::Ended& ended, bool shadow) {
  const auto found = copies_.requests.find(request);
  if (found == copies_.requests.end()) return;
  Compared& compared = found->second;
  (shadow ? compared.shadow : compared.decides) = ended;
  if (!compared.shadow || !compared.decides) return;
  if (compared.compared) {
    sums_.real.Add(compared.real, compared.refused);
    sums_.decides.Add(compared.decides->service, compared.decides->refused);
    sums_.shadow.Add(compared.shadow->service, compared.shadow->refused);
  }
  copies_.requests.erase(found);
}

void Counterfactual::Show(CounterfactualReport& report, Instant now) const {
  report = sums_;
  report.behind = copies_.decides == nullptr ? 0 : std::max(0.0, (now - copies_.reached).seconds());
}

}  // namespace penstock
