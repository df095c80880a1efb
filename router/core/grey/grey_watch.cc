#include "router/core/grey/grey_watch.h"
#include "base/ids.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace penstock {
namespace {

// A level says something of the present for so long.
constexpr Duration kFresh = Duration::Seconds(5);
// A replica that was seen to step so recently goes on while others stand still.
constexpr Duration kGoesOn = Duration::Milliseconds(200);
// Replicas that one event looks at for stalls.
constexpr size_t kReviewed = 8;
// Peers that are asked at most.
constexpr size_t kPeers = 32;
// Part of the way to a larger derate that one sample makes.
constexpr double kRaise = 0.3;
// The longest part of the time between two samples that counts as work done well, in seconds.
constexpr double kMostWell = 0.5;
// Stalls that follow one another this soon are one failure.
constexpr double kSameFailure = 30;
// So many stalls of one failure are a habit. Three pauses of a healthy replica may follow one another by chance.
constexpr int kHabit = 4;
// Priors that differ by no more than this factor are those of equal hardware.
constexpr double kEqual = 1.3;
constexpr double kContext = 1000;  // Tokens at which priors are compared.

bool Derated(const ReplicaState& replica) { return replica.facts.grey.derate > 1; }

bool ArePeers(const ReplicaSpec& a, const ReplicaSpec& b) {
  if (a.models.empty() || b.models.empty() || a.models.front() != b.models.front()) return false;
  // Equal hardware, as far as the priors tell.
  const double of_a = a.prior.DecodeMs(1, kContext);
  const double of_b = b.prior.DecodeMs(1, kContext);
  return a.prior_known == b.prior_known && std::max(of_a, of_b) <= kEqual * std::min(of_a, of_b);
}

}  // namespace

void GreyWatch::Configure() {
  const Fleet& spec = fleet_.spec();
  kinds_.clear();
  kind_of_.assign(spec.replicas.size(), 0);
  for (size_t i = 0; i < spec.replicas.size(); ++i) {
    size_t kind = 0;
    while (kind < kinds_.size() && !ArePeers(spec.replicas[kinds_[kind].front()], spec.replicas[i])) ++kind;
    if (kind == kinds_.size()) kinds_.emplace_back();
    kinds_[kind].push_back(i);
    kind_of_[i] = static_cast<uint32_t>(kind);
  }
  std::map<std::string, uint32_t> nodes;
  node_of_.clear();
  for (const GpuSpec& gpu : spec.gpus) {
    const std::string node(NodeOf(gpu.name));
    const uint32_t next = static_cast<uint32_t>(nodes.size());
    node_of_.push_back(node.empty() ? kNoNode : nodes.try_emplace(node, next).first->second);
  }
  listed_.clear();
  for (ReplicaState& replica : fleet_.replicas()) {
    if (replica.spec().removed) {
      replica.facts.grey.stalled = false;
      End(replica);
    }
    if (Derated(replica) || replica.facts.grey.stalled) List(replica);
  }
}

bool GreyWatch::IsFresh(const ReplicaState& replica, Instant now) const {
  const PaceWatch& pace = replica.facts.pace;
  return !replica.spec().removed && pace.filled() && now - pace.newest_at() <= kFresh;
}

bool GreyWatch::IsSlow(const ReplicaState& replica, Instant now) const {
  return Derated(replica) || (IsFresh(replica, now) && replica.facts.pace.level() >= PaceWatch::kOutOfLine);
}

std::optional<double> GreyWatch::PeerLevel(const ReplicaState& replica, Instant now) const {
  const size_t own = fleet_.PositionOf(replica);
  const std::vector<size_t>& kind = kinds_[kind_of_[own]];
  levels_.clear();
  const size_t first = static_cast<size_t>(std::lower_bound(kind.begin(), kind.end(), own) - kind.begin());
  for (size_t i = 1; i < kind.size() && levels_.size() < kPeers; ++i) {
    const ReplicaState& peer = fleet_.replicas()[kind[(first + i) % kind.size()]];
    const PaceWatch& pace = peer.facts.pace;
    // A peer that became slow just now has a newest step that tells, before its level does.
    if (IsFresh(peer, now))
      levels_.push_back(std::max(pace.level(), std::min(pace.newest(), replica.facts.pace.level())));
  }
  if (levels_.empty()) return std::nullopt;
  const auto middle = levels_.begin() + static_cast<std::ptrdiff_t>((levels_.size() - 1) / 2);
  std::nth_element(levels_.begin(), middle, levels_.end());
  return *middle;
}

bool GreyWatch::Suspect(const ReplicaState& replica, double relative, bool compared) const {
  const PaceWatch& pace = replica.facts.pace;
  if (pace.newest() < PaceWatch::kOutOfLine) return false;
  if (!compared) return pace.sure() && replica.spec().prior_known && relative >= kSlowAlone;
  return relative >= (pace.sure() ? kSlow : kSlowGuessed);
}

void GreyWatch::Stepped(ReplicaState& replica, Instant now) {
  if (!on_ || !replica.spec().learns_steps) return;
  GreyState& grey = replica.facts.grey;
  if (grey.stalled) EndStall(replica, now);
  const PaceWatch& pace = replica.facts.pace;
  if (!pace.filled() || pace.newest_at() <= grey.judged_at) return;
  Judge(replica, now);
  grey.judged_at = pace.newest_at();
}

void GreyWatch::Judge(ReplicaState& replica, Instant now) {
  GreyState& grey = replica.facts.grey;
  const double level = replica.facts.pace.level();
  const bool alone = kinds_[kind_of_[fleet_.PositionOf(replica)]].size() < 2;
  if (!Derated(replica) && (level < kSlow || alone)) {
    grey.suspicions = 0;
    return;
  }
  const std::optional<double> peers = PeerLevel(replica, now);
  const double relative = level / std::max(1.0, peers.value_or(1));
  if (Derated(replica)) return Follow(replica, relative, now);
  grey.suspicions = Suspect(replica, relative, peers.has_value()) ? grey.suspicions + 1 : 0;
  if (grey.suspicions >= kConfirmed) Begin(replica, relative, CauseOf(replica, now), now);
}

void GreyWatch::Follow(ReplicaState& replica, double relative, Instant now) {
  GreyState& grey = replica.facts.grey;
  const double derate = grey.derate;
  if (relative >= PaceWatch::kOutOfLine) {
    if (grey.TakesTrial(now)) grey.pause = std::min(grey.pause * 2, kLongestPause);
    grey.trial_at = now + grey.pause;
    grey.trial_told = false;
  }
  if (relative > derate) return Change(replica, derate + kRaise * (relative - derate));
  const double well = std::clamp((replica.facts.pace.newest_at() - grey.judged_at).seconds(), 0.0, kMostWell);
  const double next = std::max(relative, 1 + (derate - 1) * std::exp2(-well / kHalved.seconds()));
  if (next < kWell) return End(replica);
  Change(replica, next);
}

void GreyWatch::Begin(ReplicaState& replica, double derate, GreyCause cause, Instant now) {
  GreyState& grey = replica.facts.grey;
  grey.cause = cause;
  ++grey.events[static_cast<size_t>(cause)];
  grey.found_after = replica.facts.pace.slow_steps();
  grey.found_at = now;
  grey.pause = kFirstPause;
  grey.trial_at = now + grey.pause;
  grey.trial_told = false;
  List(replica);
  Change(replica, derate);
  ReviseCauses(now);
}

void GreyWatch::Change(ReplicaState& replica, double derate) {
  replica.facts.grey.derate = std::clamp(derate, kWell, kMost);
  replica.Derate();
}

void GreyWatch::End(ReplicaState& replica) {
  GreyState& grey = replica.facts.grey;
  if (Derated(replica)) {
    grey.derate = 1;
    replica.Derate();
  }
  grey.cause = GreyCause::kNone;
  grey.suspicions = 0;
  grey.trial_at = Instant();
  if (!grey.stalled) std::erase(listed_, fleet_.PositionOf(replica));
}

void GreyWatch::EndStall(ReplicaState& replica, Instant now) {
  GreyState& grey = replica.facts.grey;
  grey.stalled = false;
  const double still = (now - grey.stall_began).seconds();
  const double well = std::max(0.1, (grey.stall_began - grey.stall_ended).seconds());
  const bool again = grey.stall_ended != Instant() && well < kSameFailure;
  grey.stalls = again ? grey.stalls + 1 : 1;
  grey.stall_ended = now;
  const double derate = std::min(kMostOfStalls, 1 + still / well);
  if (again && Derated(replica)) {
    Change(replica, std::max(grey.derate, derate));
  } else if (grey.stalls >= kHabit && derate >= kSlow) {
    Begin(replica, derate, GreyCause::kStall, now);
  }
  if (!Derated(replica)) std::erase(listed_, fleet_.PositionOf(replica));
}

void GreyWatch::HealthChanged(ReplicaState& replica) {
  if (replica.health != Health::kDown) return;
  replica.facts.pace.Forget();
  replica.facts.grey.stalled = false;
  End(replica);
}

bool GreyWatch::StandsStill(const ReplicaState& replica, Instant now) const {
  // One stream alone may wait for its client.
  const bool works = replica.health != Health::kDown && replica.requests().size() > 1 &&
                     replica.load.unobserved < static_cast<int64_t>(replica.requests().size());
  // A decode engine without streams waits for caches that others compute.
  if (replica.spec().role == EngineRole::kDecode && replica.streams().sequences() == 0) return false;
  if (!works || !replica.steps.last_end || !replica.spec().learns_steps) return false;
  const double silence = (now - *replica.steps.last_end).seconds();
  if (silence < kStallSeconds) return false;
  const int busy = fleet_.BusyNeighbours(replica);
  const PrefillWork prefill = replica.prefills().Next(replica.spec().batch_budget);
  const double due = replica.DecodeStep(busy) + replica.steps_model().PriceOfPrefill(busy).Of(prefill);
  if (silence < kStallSteps * due) return false;
  // Its peers go on, and could take its load. Forecast steps of unobserved requests show nothing.
  const std::vector<size_t>& kind = kinds_[kind_of_[fleet_.PositionOf(replica)]];
  return std::any_of(kind.begin(), kind.end(), [&](size_t index) {
    const ReplicaState& other = fleet_.replicas()[index];
    const bool seen = other.load.unobserved < static_cast<int64_t>(other.requests().size());
    return &other != &replica && other.Placeable() && seen && other.steps.last_end &&
           now - *other.steps.last_end <= kGoesOn;
  });
}

void GreyWatch::ReviewOne(ReplicaState& replica, Instant now) {
  GreyState& grey = replica.facts.grey;
  const std::vector<size_t>& kind = kinds_[kind_of_[fleet_.PositionOf(replica)]];
  const bool last = std::none_of(kind.begin(), kind.end(), [&](size_t index) {
    const ReplicaState& peer = fleet_.replicas()[index];
    return &peer != &replica && peer.Placeable() && !peer.facts.grey.stalled;
  });
  // Nothing is left that could step, or nobody else could serve: the next request tells.
  if (grey.stalled && (replica.requests().empty() || last)) {
    grey.stalled = false;
    if (!Derated(replica)) std::erase(listed_, fleet_.PositionOf(replica));
    work_.Open(replica);
  }
  // Nobody could take what the replica is spared, or nothing has been seen of it for long.
  if (Derated(replica) && (last || now - grey.judged_at > kForgotten)) {
    End(replica);
    return work_.Open(replica);
  }
  if (!Derated(replica) || replica.busy() || grey.trial_told || !grey.TakesTrial(now)) return;
  grey.trial_told = true;
  work_.Open(replica);
}

void GreyWatch::Review(Instant now) {
  if (!on_) return;
  std::vector<ReplicaState>& replicas = fleet_.replicas();
  for (size_t i = listed_.size(); i-- > 0;) ReviewOne(replicas[listed_[i]], now);
  for (size_t i = 0; i < std::min(kReviewed, replicas.size()); ++i) {
    next_ = next_ + 1 < replicas.size() ? next_ + 1 : 0;
    ReplicaState& replica = replicas[next_];
    GreyState& grey = replica.facts.grey;
    if (grey.stalled || !StandsStill(replica, now)) continue;
    grey.stalled = true;
    grey.stall_began = *replica.steps.last_end;
    ++grey.events[static_cast<size_t>(GreyCause::kStall)];
    List(replica);
    work_.Open(replica);
  }
}

void GreyWatch::List(const ReplicaState& replica) {
  const size_t index = fleet_.PositionOf(replica);
  if (std::find(listed_.begin(), listed_.end(), index) == listed_.end()) listed_.push_back(index);
}

Instant GreyWatch::NextDue() const {
  Instant next = Instant::Never();
  for (const size_t index : listed_) {
    const ReplicaState& replica = fleet_.replicas()[index];
    const GreyState& grey = replica.facts.grey;
    if (Derated(replica) && !replica.busy() && !grey.trial_told) next = std::min(next, grey.trial_at);
  }
  return next;
}

void GreyWatch::Show(CoreView& view) const {
  for (size_t i = 0; i < fleet_.replicas().size(); ++i) {
    const ReplicaState& replica = fleet_.replicas()[i];
    const GreyState& grey = replica.facts.grey;
    const GreyCause cause = grey.stalled ? GreyCause::kStall : grey.cause;
    view.replicas[i].grey = {grey.derate, grey.stalled, cause, grey.events, grey.found_after, grey.found_at};
  }
}

}  // namespace penstock
