#include "router/core/residency/wake_planner.h"

#include <algorithm>

namespace penstock {

std::optional<WakePlanner::Leaver> WakePlanner::LeaverOf(size_t index, const Question& question,
                                                         const WakePlan& plan) const {
  const ReplicaState& replica = fleet_.replicas()[index];
  const Resident* resident = question.residents[index];
  if (resident == nullptr || index == plan.replica || !replica.presence.Takes() || !replica.presence.trusted) {
    return std::nullopt;
  }
  // One that drains gets nothing new, so it gives nothing up.
  const bool ends = replica.health == Health::kDraining;
  const bool of_use = replica.spec().Serves(question.need.model) && !question.need.home;
  if (!ends && (!IsUp(replica.health) || of_use || resident->SettledAt() > question.now)) return std::nullopt;
  if (std::find(plan.leavers.begin(), plan.leavers.end(), index) != plan.leavers.end()) return std::nullopt;
  const std::optional<SleepLevel> level = hosts_.LevelOf(index, plan.leavers);
  if (!level) return std::nullopt;
  Leaver leaver;
  leaver.replica = index;
  leaver.busy = EngineWorks(replica) || (!ends && !demand_.NobodyWaitsFor(replica));
  leaver.drains = leaver.busy && !resident->left_before();
  if (question.quickest) leaver.seconds = resident->fall().seconds();
  if (ends) return leaver;
  // The tokens that would arrive until it is awake again.
  const Resident& target = *question.residents[plan.replica];
  double away = resident->WakeFrom(*level).expected().seconds();
  if (leaver.busy) away += (1 + Resident::kLeastStay) * target.wake().expected().seconds();
  leaver.value = demand_.RateOf(replica, question.now) * away;
  leaver.loss = demand_.LateWithout(replica, away, question.now);
  return leaver;
}

std::optional<std::vector<WakePlanner::Leaver>> WakePlanner::Choose(uint32_t gpu, const Question& question,
                                                                    const WakePlan& plan, Bytes& missing) const {
  std::vector<Leaver> leavers;
  for (const size_t index : memory_.ReplicasOn(gpu)) {
    const auto chosen = std::find(plan.leavers.begin(), plan.leavers.end(), index);
    if (chosen != plan.leavers.end()) missing -= fleet_.replicas()[index].spec().resident;
    if (const auto leaver = LeaverOf(index, question, plan)) leavers.push_back(*leaver);
  }
  std::sort(leavers.begin(), leavers.end(), [](const Leaver& a, const Leaver& b) { return a.Key() < b.Key(); });
  std::vector<Leaver> chosen;
  std::vector<size_t> beside = plan.leavers;
  double loss = plan.loss;
  for (const Leaver& leaver : leavers) {
    if (missing <= Bytes(0)) break;
    const double worth = loss + leaver.loss;
    if (leaver.busy && question.need.tokens <= (leaver.drains ? kHysteresis * worth : worth)) continue;
    const std::optional<SleepLevel> level = hosts_.LevelOf(leaver.replica, beside);
    if (!level) continue;
    if (level == SleepLevel::kHost) beside.push_back(leaver.replica);
    loss = worth;
    missing -= fleet_.replicas()[leaver.replica].spec().resident;
    chosen.push_back(leaver);
  }
  if (missing > Bytes(0)) return std::nullopt;
  return chosen;
}

bool WakePlanner::MakeRoomOn(uint32_t gpu, const Question& question, WakePlan& plan) const {
  const std::optional<Bytes> later = memory_.FreeLater(gpu);
  if (!later) return true;
  Bytes missing = fleet_.replicas()[plan.replica].spec().resident - *later;
  const std::optional<std::vector<Leaver>> chosen = Choose(gpu, question, plan, missing);
  if (!chosen) return false;
  // The last in order first: one that is not needed after all stays.
  for (auto leaver = chosen->rbegin(); leaver != chosen->rend(); ++leaver) {
    const Bytes memory = fleet_.replicas()[leaver->replica].spec().resident;
    if (missing + memory <= Bytes(0)) {
      missing += memory;
      continue;
    }
    plan.leavers.push_back(leaver->replica);
    plan.drains += leaver->drains ? 1 : 0;
    plan.busy += leaver->busy ? 1 : 0;
    plan.value += leaver->value;
    plan.loss += leaver->loss;
  }
  return true;
}

std::optional<WakePlan> WakePlanner::PlanOf(size_t target, const Question& question) const {
  const ReplicaState& replica = fleet_.replicas()[target];
  WakePlan plan;
  plan.replica = target;
  for (const uint32_t gpu : replica.spec().gpus) {
    if (!MakeRoomOn(gpu, question, plan)) return std::nullopt;
  }
  Duration fall;
  for (const size_t leaver : plan.leavers) fall = std::max(fall, question.residents[leaver]->fall());
  const Duration wake = question.residents[target]->wake().expected();
  plan.late = question.now + fall + wake > question.need.due;
  for (const size_t neighbour : fleet_.NeighboursOf(replica)) {
    plan.neighbours += fleet_.replicas()[neighbour].busy() ? 1 : 0;
  }
  return plan;
}

std::optional<WakePlan> WakePlanner::Plan(const Need& need, const std::vector<Resident*>& residents,
                                          Instant now) const {
  std::optional<WakePlan> best;
  for (const size_t index : servers_.Of(need.model)) {
    if (need.home && need.home->value() != index) continue;
    const ReplicaState& replica = fleet_.replicas()[index];
    const Presence& presence = replica.presence;
    const bool sleeps = presence.residency == Residency::kAsleep && !presence.wanted;
    if (residents[index] == nullptr || !sleeps || !presence.CountsAsUp(replica.health)) continue;
    for (const bool quickest : {false, true}) {
      const std::optional<WakePlan> plan = PlanOf(index, {need, residents, now, quickest});
      if (plan && (!best || plan->Cost() < best->Cost())) best = plan;
      if (!plan || !plan->late) break;
    }
  }
  return best;
}

}  // namespace penstock
