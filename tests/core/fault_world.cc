#include "tests/core/fault_world.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>

#include "router/core/grey/grey_watch.h"
#include "tests/core/drawn_fleet.h"

namespace penstock::testing {
namespace {

constexpr size_t kMostOpen = 200;
constexpr int kTimersPerStep = 40;
constexpr int kCalmRounds = 4000;

// The exporters of the node report too, at times nonsense. No draw of its own, so that recorded corpora keep
// their meaning.
NodeReport NodeReportBeside(const EngineReport& engine) {
  NodeReport node;
  node.replica = engine.replica;
  if (engine.running % 3 == 0) node.derate = 1 + engine.running / 4.0;
  if (engine.running % 7 == 0) node.derate = std::numeric_limits<double>::infinity();
  node.storage_pressure = engine.waiting / 8.0;
  node.closed = engine.preemptions % 4 == 1;
  return node;
}

}  // namespace

FaultWorld::FaultWorld(Choices& choices) : choices_(choices), core_(DrawVariant(choices)) {
  core_.fleet = DrawFleet(choices);
  for (size_t i = 0; i < core_.fleet.replicas.size(); ++i) {
    core_.health.push_back(choices_.OneIn(4) ? Health::kDown : Health::kUp);
  }
  core_.Send(FleetChanged{core_.fleet});
  for (uint32_t i = 0; i < core_.fleet.replicas.size(); ++i) core_.Send(ReplicaHealth{ReplicaId(i), core_.health[i]});
}

void FaultWorld::Step() {
  struct Weighted {
    uint64_t weight;
    void (FaultWorld::*act)();
  };
  static constexpr Weighted kActs[] = {
      {22, &FaultWorld::Arrive},      {24, &FaultWorld::TokensCome},    {14, &FaultWorld::PassTime},
      {12, &FaultWorld::RequestEnds}, {4, &FaultWorld::ClientLeaves},   {5, &FaultWorld::RequestFails},
      {5, &FaultWorld::AnswerAbort},  {5, &FaultWorld::ReplicaChanges}, {4, &FaultWorld::EngineReports},
      {3, &FaultWorld::Reload},       {2, &FaultWorld::Nonsense},
  };
  uint64_t drawn = choices_.Below(100);
  for (const Weighted& each : kActs) {
    if (drawn < each.weight) return (this->*each.act)();
    drawn -= each.weight;
  }
}

void FaultWorld::Arrive() {
  if (core_.open.size() >= kMostOpen) return;
  RequestArrived event;
  event.request = RequestId(static_cast<uint64_t>(next_request_++));
  event.model =
      ModelId(static_cast<uint32_t>(choices_.Below(core_.fleet.models.size() + (choices_.OneIn(50) ? 1 : 0))));
  event.service_class = ClassId(static_cast<uint32_t>(choices_.Below(core_.fleet.classes.size())));
  event.tenant = TenantId(choices_.Below(4));
  event.prompt = Tokens(1 + static_cast<int64_t>(choices_.Below(choices_.OneIn(8) ? 9000 : 600)));
  event.prompt_sigma = choices_.OneIn(3) ? 0.3 : 0.02;
  if (choices_.OneIn(2)) event.max_output = Tokens(1 + static_cast<int64_t>(choices_.Below(3000)));
  if (choices_.OneIn(8)) event.sequences = 1 + static_cast<int>(choices_.Below(6));
  event.embedding = choices_.OneIn(10);
  event.observed = !event.embedding && !choices_.OneIn(4);
  event.regenerable = !choices_.OneIn(3);
  event.body = Bytes(static_cast<int64_t>(choices_.Below(100'000)));
  if (choices_.OneIn(3)) event.prefix = DrawPrefix(event.prompt);
  OpenRequest request;
  request.arrived = event;
  request.arrival = core_.now;
  core_.open[event.request] = request;
  core_.Send(event);
}

// One of a few conversations up to some point, then text of its own.
std::vector<uint64_t> FaultWorld::DrawPrefix(Tokens prompt) {
  const uint64_t conversation = 1 + choices_.Below(6);
  const uint64_t blocks = static_cast<uint64_t>(prompt.value() / kPrefixBlock.value());
  const uint64_t shared = choices_.Below(blocks + 1);
  std::vector<uint64_t> prefix;
  for (uint64_t i = 0; i < blocks; ++i) {
    prefix.push_back(i < shared ? conversation * 1'000 + i : static_cast<uint64_t>(next_request_) * 1'000'000 + i);
  }
  return prefix;
}

void FaultWorld::PassTime() {
  static constexpr int64_t kMilliseconds[] = {1, 5, 20, 20, 100, 500, 3'000, 20'000};
  const Duration passed = Duration::Milliseconds(kMilliseconds[choices_.Below(std::size(kMilliseconds))]);
  core_.FireTimers(core_.now + passed, kTimersPerStep);
}

OpenRequest* FaultWorld::Any(Phase phase) {
  std::vector<OpenRequest*> found;
  for (auto& [id, request] : core_.open) {
    if (request.phase == phase) found.push_back(&request);
  }
  return found.empty() ? nullptr : found[choices_.Below(found.size())];
}

void FaultWorld::Close(const OpenRequest& request, Outcome outcome) {
  RequestClosed closed;
  closed.request = request.arrived.request;
  closed.outcome = outcome;
  if (choices_.OneIn(2)) closed.prompt = request.arrived.prompt + Tokens(3);
  closed.output = Tokens(request.generated);
  closed.hit_limit = choices_.OneIn(5);
  if (closed.hit_limit) closed.cached = Tokens(closed.prompt.value() / 2);
  core_.open.erase(closed.request);
  core_.Send(closed);
}

void FaultWorld::Requeue(OpenRequest& request, bool avoid) {
  const bool keeps = !request.arrived.embedding && choices_.OneIn(2);
  if (!keeps) request.generated = 0;
  request.phase = Phase::kWaiting;
  request.avoids = request.avoids || avoid;
  core_.Send(RequestRequeued{request.arrived.request, Tokens(request.generated), avoid});
}

void FaultWorld::ClientLeaves() {
  if (core_.open.empty()) return;
  Close(std::next(core_.open.begin(), static_cast<int64_t>(choices_.Below(core_.open.size())))->second,
        Outcome::kClientGone);
}

// Steps of some replicas, with first tokens and counts that differ from the steps.
void FaultWorld::TokensCome() {
  Progress progress;
  for (uint32_t i = 0; i < core_.fleet.replicas.size(); ++i) {
    if (choices_.OneIn(2)) continue;
    progress.replicas.push_back({ReplicaId(i), static_cast<int64_t>(choices_.Below(12)),
                                 core_.now - Duration::Milliseconds(static_cast<int64_t>(choices_.Below(30)))});
  }
  std::vector<RequestId> first;
  for (auto& [id, request] : core_.open) {
    if (request.phase != Phase::kForwarded || !request.arrived.observed || choices_.OneIn(2)) continue;
    if (request.generated == 0 || choices_.OneIn(20)) first.push_back(id);
    request.generated += 1 + static_cast<int64_t>(choices_.Below(20));
    if (core_.variant().output_of)
      request.generated = std::min(request.generated, core_.variant().output_of(id).value());
    if (choices_.OneIn(3)) progress.corrections.push_back({id, Tokens(request.generated)});
  }
  for (RequestId id : first) core_.Send(FirstToken{id});
  core_.Send(progress);
}

void FaultWorld::RequestEnds() {
  if (const OpenRequest* request = Any(Phase::kForwarded)) Close(*request, Outcome::kFinished);
}

void FaultWorld::RequestFails() {
  OpenRequest* request = Any(Phase::kForwarded);
  if (request == nullptr) return;
  switch (choices_.Below(3)) {
    case 0:
      return Close(*request, Outcome::kEngineFailed);
    case 1:
      return Close(*request, Outcome::kRejected);
    default:
      return Requeue(*request, !choices_.OneIn(4));
  }
}

void FaultWorld::AnswerAbort() {
  OpenRequest* request = Any(Phase::kAborting);
  if (request == nullptr) return;
  if (choices_.OneIn(4)) return Close(*request, choices_.OneIn(2) ? Outcome::kFinished : Outcome::kClientGone);
  Requeue(*request, false);
}

// A replica that dies fails its requests, one after another, before or after the core hears of it.
void FaultWorld::ReplicaChanges() {
  const ReplicaId replica = AnyReplica();
  static constexpr Health kStates[] = {Health::kDown, Health::kUp, Health::kUp, Health::kProbing, Health::kDraining};
  const Health health = kStates[choices_.Below(std::size(kStates))];
  const bool health_first = choices_.OneIn(2);
  const auto send = [&] {
    core_.health[replica.value()] = health;
    core_.Send(ReplicaHealth{replica, health});
  };
  if (health_first) send();
  if (health == Health::kDown) {
    std::vector<RequestId> lost;
    for (const auto& [id, request] : core_.open) {
      if (request.phase == Phase::kForwarded && request.replica == replica) lost.push_back(id);
    }
    for (RequestId id : lost) {
      const auto found = core_.open.find(id);
      if (found == core_.open.end() || found->second.phase != Phase::kForwarded) continue;
      if (choices_.OneIn(3)) {
        Close(found->second, Outcome::kEngineFailed);
      } else {
        Requeue(found->second, true);
      }
    }
  }
  if (!health_first) send();
}

void FaultWorld::EngineReports() {
  EngineReport report;
  report.replica = AnyReplica();
  report.sampled_at = core_.now - Duration::Milliseconds(static_cast<int64_t>(choices_.Below(400)));
  if (!choices_.OneIn(5)) report.kv_used_share = static_cast<double>(choices_.Below(130)) / 100;
  if (!choices_.OneIn(5)) report.running = static_cast<int>(choices_.Below(40));
  if (!choices_.OneIn(5)) report.waiting = static_cast<int>(choices_.Below(10));
  if (!choices_.OneIn(3)) report.preemptions = static_cast<int64_t>(choices_.Below(50));
  core_.Send(report);
  core_.Send(NodeReportBeside(report));
}

void FaultWorld::Reload() {
  ChangeFleet(choices_, core_.fleet);
  core_.health.resize(core_.fleet.replicas.size(), Health::kDown);
  core_.Send(FleetChanged{core_.fleet});
}

// Events that cross others, come twice, or name what is not there; a drain once in a while.
void FaultWorld::Nonsense() {
  const RequestId unknown(static_cast<uint64_t>(next_request_) + 1'000'000);
  switch (choices_.Below(8)) {
    case 0:
      return core_.Send(FirstToken{unknown});
    case 1:
      return core_.Send(RequestClosed{unknown, Outcome::kFinished, Tokens(5), Tokens(5), false});
    case 2:
      return core_.Send(RequestRequeued{unknown, Tokens(0), true});
    case 3:
      return core_.Send(Progress{{{ReplicaId(77), 3, core_.now}}, {{unknown, Tokens(3)}}});
    case 4:
      return core_.Send(ReplicaHealth{ReplicaId(77), Health::kUp});
    case 5:
      core_.Send(NodeReport{ReplicaId(77), 2, 0.5, true});
      return core_.Send(EngineReport{ReplicaId(77), core_.now, 0.5, 1, 1, 1});
    case 6:
      return core_.Send(TimerFired{});
    default:
      if (!choices_.OneIn(4)) return;
      core_.shutting_down = true;
      return core_.Send(ShutdownStarted{});
  }
}

void FaultWorld::Calm() {
  MakeRoom(core_.fleet);
  for (ReplicaSpec& replica : core_.fleet.replicas) replica.removed = false;
  core_.Send(FleetChanged{core_.fleet});
  for (uint32_t i = 0; i < core_.fleet.replicas.size(); ++i) {
    core_.health[i] = Health::kUp;
    core_.Send(ReplicaHealth{ReplicaId(i), Health::kUp});
    core_.Send(EngineReport{ReplicaId(i), core_.now, 0, 0, 0, -1});
    core_.Send(NodeReport{ReplicaId(i)});
  }
  std::vector<RequestId> ending;
  for (int round = 0; round < kCalmRounds && !core_.open.empty() && core_.broken().empty(); ++round) {
    // Parked streams may be hours ahead of their due times.
    const Instant next = ending.empty() ? core_.core().NextDeadline().value_or(core_.now) : core_.now;
    core_.FireTimers(std::max(next, core_.now + Duration::Milliseconds(200)), kTimersPerStep);
    if (core_.open.empty()) break;
    ending.clear();
    for (auto& [id, request] : core_.open) {
      if (request.phase != Phase::kWaiting) ending.push_back(id);
    }
    for (RequestId id : ending) {
      const auto found = core_.open.find(id);
      if (found == core_.open.end() || found->second.phase == Phase::kWaiting) continue;
      if (found->second.phase == Phase::kAborting) {
        Requeue(found->second, false);
      } else {
        if (found->second.arrived.observed && found->second.generated == 0) core_.Send(FirstToken{id});
        Close(found->second, Outcome::kFinished);
      }
    }
  }
  core_.Expect(core_.open.empty(), "in calm every request ends");
  // The last timer may be the trial of a slow replica.
  core_.FireTimers(core_.now + GreyWatch::kLongestPause, kTimersPerStep);
  core_.Send(TimerFired{});
  for (const PoolView& pool : core_.core().View(core_.now).pools) {
    core_.Expect(pool.draining == Amount(0), "in calm nothing stays draining");
  }
  core_.Expect(!core_.core().NextDeadline().has_value(), "in calm nothing is due");
}

}  // namespace penstock::testing
