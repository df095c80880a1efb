#include "router/core/residency/residents.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// While requests wait for memory or a least stay, they are looked at this often.
constexpr Duration kNextLook = Duration::Milliseconds(100);
// Room for sleeping models is looked for so often at most.
constexpr Duration kNextRoom = Duration::Milliseconds(500);
// Tokens per second. A model that is asked for less needs no room: that is a request in some hours.
constexpr double kLeastRate = 0.01;

}  // namespace

void Residents::Configure(Instant now) {
  const std::vector<ReplicaSpec>& replicas = fleet_.spec().replicas;
  by_replica_.resize(replicas.size(), nullptr);
  std::vector<std::unique_ptr<Resident>> before = std::move(residents_);
  residents_.clear();
  for (size_t i = 0; i < replicas.size(); ++i) {
    const std::optional<SleepSpec>& sleep = replicas[i].sleep;
    const auto known = std::find_if(before.begin(), before.end(),
                                    [i](const auto& resident) { return resident && resident->replica() == i; });
    by_replica_[i] = nullptr;
    if (!sleep || replicas[i].removed) {
      const Instant down_since = fleet_.replicas()[i].presence.down_since;
      fleet_.replicas()[i].presence = {};
      fleet_.replicas()[i].presence.down_since = down_since;
      continue;
    }
    residents_.push_back(known == before.end() ? std::make_unique<Resident>(i, *sleep) : std::move(*known));
    Resident& resident = *residents_.back();
    resident.Configure(*sleep);
    if (known == before.end()) resident.Used(now);
    by_replica_[i] = &resident;
    PresenceOf(resident).wake = resident.wake().expected();
    Changed(resident, now);
  }
  memory_.Configure();
  hosts_.Configure();
  demand_.Configure();
  if (any()) touched_ = true;
}

void Residents::Changed(const Resident& resident, Instant now) {
  servers_.ResidencyChanged(resident.replica(), now);
  work_.Open(StateOf(resident));
  touched_ = true;
}

void Residents::Arrived(const RequestState* request, Instant now) {
  if (request == nullptr) return;
  demand_.Arrived(*request, now);
  touched_ = true;
}

void Residents::Leaves(const RequestState* request, Instant now, bool finished) {
  if (request == nullptr) return;
  touched_ = true;
  if (request->phase == RequestPhase::kWaiting) return;
  Resident* resident = by_replica_[request->running.replica.value()];
  if (resident == nullptr) return;
  resident->Used(now);
  if (finished) resident->Proved();
}

void Residents::Told(const ReplicaResidency& event, Instant now) {
  if (event.replica.value() >= by_replica_.size()) return;
  Resident* resident = by_replica_[event.replica.value()];
  if (resident == nullptr) return;
  resident->Told(PresenceOf(*resident), event, now);
  Changed(*resident, now);
}

bool Residents::IsIdle(const Resident& resident) const {
  const ReplicaState& replica = StateOf(resident);
  // Requests of its models do not wait for one that drains.
  return !EngineWorks(replica) && (replica.health == Health::kDraining || demand_.NobodyWaitsFor(replica));
}

void Residents::SettleOrders(Instant now) {
  for (const auto& resident : residents_) {
    if (EngineWorks(StateOf(*resident))) resident->Used(now);
    Presence& presence = PresenceOf(*resident);
    resident->Saw(presence, StateOf(*resident).health, now);
    const bool gave_up = resident->GiveUpAt(presence, now);
    if (resident->TrustAgainAt(presence, now) || gave_up) Changed(*resident, now);
  }
  for (const auto& resident : residents_) {
    Presence& presence = PresenceOf(*resident);
    const bool blocked = presence.residency == Residency::kAsleep && memory_.Blocks(StateOf(*resident).spec(), now);
    if (std::exchange(presence.blocked, blocked) != blocked) Changed(*resident, now);
  }
}

void Residents::FindNeeds(Instant now) {
  needs_.clear();
  for (uint32_t i = 0; i < waiting_.lanes(); ++i) {
    const Need need = demand_.Of(ModelId(i), now);
    if (need.tokens > 0) needs_.push_back(need);
  }
  // Memory that others leave goes to those for whom they leave.
  const auto later = [this](const Need& need) {
    const std::vector<size_t>& servers = servers_.Of(need.model);
    return std::none_of(servers.begin(), servers.end(),
                        [this](size_t i) { return by_replica_[i] != nullptr && by_replica_[i]->wanted_before(); });
  };
  std::sort(needs_.begin(), needs_.end(), [&later](const Need& a, const Need& b) {
    return std::tuple(later(a), a.due, -a.tokens, a.model.value()) <
           std::tuple(later(b), b.due, -b.tokens, b.model.value());
  });
}

void Residents::PlanWakes(Instant now) {
  for (const Need& need : needs_) {
    const std::optional<WakePlan> plan = planner_.Plan(need, by_replica_, now);
    if (!plan) continue;
    PresenceOf(*by_replica_[plan->replica]).wanted = true;
    Leave(plan->leavers);
  }
}

void Residents::Leave(const std::vector<size_t>& leavers) {
  for (const bool may_drop : {false, true}) {
    for (const size_t leaver : leavers) {
      const SleepSpec& sleep = *fleet_.spec().replicas[leaver].sleep;
      if (sleep.may_drop != may_drop) continue;
      const std::optional<SleepLevel> level = hosts_.LevelOf(leaver);
      if (!level) continue;
      Presence& presence = PresenceOf(*by_replica_[leaver]);
      presence.level = *level;
      presence.leaving = true;
    }
  }
}

void Residents::ShowPlan(Instant now) {
  for (const auto& resident : residents_) {
    if (resident->PlanChanged(PresenceOf(*resident))) Changed(*resident, now);
  }
}

bool Residents::LacksRoom(ModelId model) const {
  const std::vector<size_t>& servers = servers_.Of(model);
  return !servers.empty() && std::all_of(servers.begin(), servers.end(), [&](size_t index) {
    const ReplicaState& replica = fleet_.replicas()[index];
    const Presence& presence = replica.presence;
    return presence.residency == Residency::kAsleep && !presence.wanted && !memory_.FitsLater(replica.spec());
  });
}

void Residents::KeepRoom(Instant now) {
  room_.open = true;
  if (now < room_.next) return;
  room_.next = now + kNextRoom;
  Need need;
  double most = 0;
  double lacking = 0;
  for (uint32_t i = 0; i < waiting_.lanes(); ++i) {
    const double rate = demand_.RateOf(ModelId(i), now);
    if (rate < kLeastRate || !LacksRoom(ModelId(i))) continue;
    lacking += rate;
    if (rate > most) need.model = ModelId(i);
    most = std::max(most, rate);
  }
  room_.open = lacking > 0;
  if (!room_.open) return;
  const std::optional<WakePlan> plan = planner_.Plan(need, by_replica_, now);
  if (!plan) return;
  double leaving = 0;
  for (const size_t leaver : plan->leavers) leaving += demand_.RateOf(fleet_.replicas()[leaver], now);
  if (lacking > WakePlanner::kHysteresis * leaving) Leave(plan->leavers);
}

void Residents::OrderSleeps(Instant now, Actions& actions) {
  for (const auto& resident : residents_) {
    Presence& presence = PresenceOf(*resident);
    const ReplicaState& replica = StateOf(*resident);
    if (!presence.awake() || !presence.trusted || EngineWorks(replica)) continue;
    const bool unused = resident->IdleTime(now) >= resident->after() && IsIdle(*resident);
    if (!presence.leaving && (!unused || replica.health == Health::kDown)) continue;
    const std::optional<SleepLevel> level = presence.leaving ? presence.level : hosts_.LevelOf(resident->replica());
    presence.lacks_host = !level;
    if (!level) continue;
    resident->OrderSleep(presence, *level, now);
    actions.push_back(Sleep{ReplicaId(static_cast<uint32_t>(resident->replica())), *level});
    Changed(*resident, now);
  }
}

void Residents::OrderWakes(Instant now, Actions& actions) {
  for (const auto& resident : residents_) {
    Presence& presence = PresenceOf(*resident);
    if (!presence.wanted || presence.residency != Residency::kAsleep) continue;
    if (!memory_.FitsNow(StateOf(*resident).spec())) continue;
    resident->OrderWake(presence, now);
    actions.push_back(Wake{ReplicaId(static_cast<uint32_t>(resident->replica()))});
    Changed(*resident, now);
  }
}

void Residents::Review(Instant now, Actions& actions) {
  if (!any() || (!touched_ && now < next_review_)) return;
  SettleOrders(now);
  for (const auto& resident : residents_) resident->BeginReview(PresenceOf(*resident));
  FindNeeds(now);
  PlanWakes(now);
  KeepRoom(now);
  ShowPlan(now);
  OrderSleeps(now, actions);
  OrderWakes(now, actions);
  touched_ = false;
  reviewed_at_ = now;
  next_review_ = NextReview(now);
}

Instant Residents::NextReview(Instant now) const {
  Instant next = room_.open ? room_.next : Instant::Never();
  for (const auto& resident : residents_) {
    const ReplicaState& replica = StateOf(*resident);
    next = std::min(next, resident->NextChange(replica.presence));
    const Instant down_since = replica.presence.down_since;
    const bool lost = replica.presence.awake() && replica.health == Health::kDown;
    if (lost && IsAwaited(down_since, now)) next = std::min(next, down_since + kOutageGrace);
    const bool could_wake = replica.presence.residency == Residency::kAsleep && replica.presence.trusted;
    if (could_wake && !demand_.NobodyWaitsFor(replica)) next = std::min(next, now + kNextLook);
    if (!replica.presence.Takes() || EngineWorks(replica) || replica.presence.lacks_host) continue;
    // While somebody waits for its model, an idle replica is looked at again after a while.
    const Instant after = now + std::max(kNextLook, resident->after() - resident->IdleTime(now));
    next = std::min(next, after);
  }
  return next;
}

Instant Residents::NextDue() const {
  if (!any()) return Instant::Never();
  // The next event pumps the lanes of the replicas that a review changed.
  return work_.opened().empty() ? next_review_ : reviewed_at_;
}

void Residents::Show(CoreView& view) const {
  for (const auto& resident : residents_) {
    ReplicaView& out = view.replicas[resident->replica()];
    out.sleeps = true;
    out.sleeps_ordered = resident->counts().sleeps;
    out.wakes_ordered = resident->counts().wakes;
    out.wakes_failed = resident->counts().failures;
    out.wake_time = resident->wake().expected().seconds();
  }
  for (size_t i = 0; i < hosts_.size(); ++i) {
    const HostSpec& host = fleet_.spec().hosts[i];
    view.hosts.push_back({host.name, hosts_.UsedOn(i), host.sleep_memory, hosts_.LackingOn(i)});
  }
}

std::string Residents::FirstDrift() const {
  for (const auto& resident : residents_) {
    const ReplicaState& replica = StateOf(*resident);
    // One whose wake failed holds what it may not need any more.
    if (replica.presence.residency != Residency::kWaking || !replica.presence.trusted) continue;
    for (const uint32_t gpu : replica.spec().gpus) {
      if (memory_.FreeNow(gpu).value_or(Bytes(0)) >= Bytes(0)) continue;
      return absl::StrCat("replica ", replica.spec().name, " wakes without memory for it");
    }
  }
  return "";
}

}  // namespace penstock
