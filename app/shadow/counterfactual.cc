#include "app/shadow/counterfactual.h"

#include <algorithm>
#include <utility>

#include "app/shadow/fleet_twin.h"
#include "router/core/contract/vacancy.h"

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
  fleet_.heard.resize(fleet.replicas.size(), Health::kDown);
  fleet_.health.resize(fleet.replicas.size(), Health::kDown);
  fleet_.start = true;
  for (uint32_t i = 0; i < fleet.models.size(); ++i) {
    if (IsVacant(fleet.models[i])) lengths_.Forget(ModelId(i));
  }
}

void Counterfactual::SetHealth(ReplicaId replica, Health health, Instant now) {
  if (replica.value() >= fleet_.heard.size()) return;
  // A probe serves requests, as the copies of a replica that is up do.
  if (health == Health::kProbing) health = Health::kUp;
  if (std::exchange(fleet_.heard[replica.value()], health) == health) return;
  Pending change;
  change.at = now;
  change.known = true;
  change.changed = replica;
  change.health = health;
  Push(std::move(change));
}

void Counterfactual::Push(Pending pending) {
  if (pending_.size() >= kMostPending) Restart();
  if (!pending.changed) positions_[pending.id] = first_position_ + pending_.size();
  pending_.push_back(std::move(pending));
}

void Counterfactual::Restart() {
  for (const Pending& pending : pending_) {
    if (pending.changed) {
      fleet_.health[pending.changed->value()] = pending.health;
    } else {
      sums_.cut_off += pending.compared ? 1 : 0;
    }
  }
  first_position_ += pending_.size();
  pending_.clear();
  positions_.clear();
  Drop();
  fleet_.start = fleet_.cut = true;
}

void Counterfactual::Drop() {
  for (const auto& [number, request] : copies_.requests) sums_.cut_off += request.compared ? 1 : 0;
  copies_ = Copies();
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
  // The copies have one sequence per request.
  pending.compared = request.sequences <= 1;
  sums_.left_out += pending.compared ? 0 : 1;
  Push(std::move(pending));
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
  if (closed != nullptr && closed->outcome == Outcome::kRejected) {
    sums_.left_out += pending.compared ? 1 : 0;
    pending.compared = pending.entered = false;
    return;
  }
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
  sums_.left_out += std::exchange(pending.compared, false) ? 1 : 0;
}

// Nobody will tell how the request ends.
void Counterfactual::Complete(Pending& pending) {
  bench::SimulatedArrival& arrival = pending.arrival;
  arrival.output = lengths_.Draw(arrival.model, Tokens(1), arrival.max_output);
  pending.known = true;
  ++sums_.drawn;
  sums_.left_out += std::exchange(pending.compared, false) ? 1 : 0;
  positions_.erase(pending.id);
}

bool Counterfactual::Ready(const Pending& pending, Instant now) const {
  return pending.known || now - pending.at > kPatience;
}

bool Counterfactual::NeedsStart(Instant at) {
  if (fleet_.start) return true;
  if (copies_.decides == nullptr) return false;
  if (copies_.offered >= kMostRequests || at - copies_.started > kLongest) return true;
  if (!learned_ || at - copies_.reviewed < kReview) return false;
  copies_.reviewed = at;
  if (DriftOf(copies_.learned, learned_()) <= kDrift) return false;
  Discard();
  return true;
}

// The sums since the start are those of engines with another speed.
void Counterfactual::Discard() {
  sums_.cut_off += sums_.real.requests - copies_.before.real.requests;
  sums_.real = copies_.before.real;
  sums_.decides = copies_.before.decides;
  sums_.shadow = copies_.before.shadow;
  sums_.seconds = copies_.before.seconds;
}

void Counterfactual::Start(Instant at) {
  const bool cut = fleet_.cut || copies_.decides != nullptr || !sums_.unavailable.empty();
  fleet_.start = fleet_.cut = false;
  Drop();
  if (!fleet_.fleet) return;
  if (learned_) copies_.learned = learned_();
  absl::StatusOr<bench::SimulatedFleetSpec> spec = TwinOf(*fleet_.fleet, copies_.learned);
  sums_.unavailable = spec.ok() ? "" : std::string(spec.status().message());
  if (!spec.ok()) return;
  copies_.started = copies_.reached = copies_.reviewed = copies_.used = at;
  copies_.warm = cut ? at + kWarmUp : at;
  copies_.before = sums_;
  copies_.replicas = spec->replicas.size();
  copies_.decides = std::make_unique<TwinRun>(*spec, make_(false), seed_);
  copies_.shadow = std::make_unique<TwinRun>(*std::move(spec), make_(true), seed_);
  copies_.decides->AdvanceTo(Instant());
  copies_.shadow->AdvanceTo(Instant());
  for (size_t i = 0; i < fleet_.health.size(); ++i) {
    if (fleet_.health[i] == Health::kUp) continue;
    copies_.decides->SetHealth(i, fleet_.health[i], Instant());
    copies_.shadow->SetHealth(i, fleet_.health[i], Instant());
  }
  ++sums_.starts;
}

void Counterfactual::Feed(const Pending& pending) {
  const Instant at = std::max(InCopy(pending.at), InCopy(copies_.reached));
  if (pending.changed) {
    // A replica that came later is up to the next start.
    if (pending.changed->value() >= copies_.replicas) return;
    copies_.decides->SetHealth(pending.changed->value(), pending.health, at);
    copies_.shadow->SetHealth(pending.changed->value(), pending.health, at);
    return;
  }
  bench::SimulatedArrival arrival = pending.arrival;
  arrival.at = at - Instant();
  const uint64_t number = copies_.decides->Offer(arrival);
  copies_.shadow->Offer(arrival);
  copies_.used = pending.at;
  const bool warm = pending.at >= copies_.warm;
  sums_.cut_off += pending.compared && !warm ? 1 : 0;
  copies_.requests[number] = {pending.compared && warm, pending.refused, pending.real, std::nullopt, std::nullopt};
  ++copies_.offered;
}

bool Counterfactual::Advance(Instant now, const std::function<bool()>& may_go_on) {
  while (!pending_.empty() && Ready(pending_.front(), now)) {
    Pending& front = pending_.front();
    if (!RunTo(front.at, may_go_on)) return true;
    if (!front.known) Complete(front);
    if (!front.changed && NeedsStart(front.at)) Start(front.at);
    if (front.changed) fleet_.health[front.changed->value()] = front.health;
    if (copies_.decides != nullptr && front.entered) Feed(front);
    pending_.pop_front();
    ++first_position_;
  }
  if (!RunTo(pending_.empty() ? now : std::min(now, pending_.front().at), may_go_on)) return true;
  DropIdle();
  return false;
}

// Engine reports cost copies that nobody uses memory and time.
void Counterfactual::DropIdle() {
  if (copies_.decides == nullptr || !pending_.empty()) return;
  if (!copies_.requests.empty()) copies_.used = copies_.reached;
  const bool stuck = copies_.reached - copies_.started > kLongest;
  if (!stuck && copies_.reached - copies_.used <= kIdle) return;
  fleet_.cut = !copies_.requests.empty();
  Drop();
  fleet_.start = true;
}

bool Counterfactual::RunTo(Instant until, const std::function<bool()>& may_go_on) {
  if (copies_.decides == nullptr) return true;
  while (copies_.reached < until) {
    if (!may_go_on()) return false;
    const Instant next = std::min(until, copies_.reached + kSlice);
    copies_.decides->AdvanceTo(InCopy(next));
    copies_.shadow->AdvanceTo(InCopy(next));
    if (next > copies_.warm) sums_.seconds += (next - copies_.reached).seconds();
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
    sums_.ever[0].Add(compared.real, compared.refused);
    sums_.ever[1].Add(compared.decides->service, compared.decides->refused);
    sums_.ever[2].Add(compared.shadow->service, compared.shadow->refused);
  }
  copies_.requests.erase(found);
}

void Counterfactual::Show(CounterfactualReport& report, Instant now) const {
  report = sums_;
  report.behind = copies_.decides == nullptr ? 0 : std::max(0.0, (now - copies_.reached).seconds());
}

}  // namespace penstock
