#include "tests/core/fault_world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "router/core/contract/event_log.h"
#include "tests/core/drawn_fleet.h"

namespace penstock::testing {
namespace {

constexpr size_t kHistory = 60;
constexpr size_t kMostOpen = 200;
constexpr int kTimersPerStep = 40;
constexpr int kMostTimersOnEnd = 30;
constexpr int kCalmRounds = 4000;

}  // namespace

FaultWorld::FaultWorld(Choices& choices)
    : choices_(choices), variant_(DrawVariant(choices)), core_(MakePenstock(variant_, 1)), fleet_(DrawFleet(choices)) {
  for (size_t i = 0; i < fleet_.replicas.size(); ++i) {
    health_.push_back(choices_.OneIn(4) ? Health::kDown : Health::kUp);
  }
  Send(FleetChanged{fleet_});
  for (uint32_t i = 0; i < fleet_.replicas.size(); ++i) Send(ReplicaHealth{ReplicaId(i), health_[i]});
}

std::string FaultWorld::History() const {
  std::string text;
  for (const Told& told : history_) {
    text += FormatEvent(told.at, told.event) + "\n";
    for (const Action& action : told.actions) text += "  -> " + FormatAction(told.at, action) + "\n";
  }
  return text;
}

void FaultWorld::CheckLog() {
  for (const Told& told : history_) {
    const auto read = ParseEvent(FormatEvent(told.at, told.event));
    Expect(read.ok() && read->first == told.at && read->second == told.event, "an event is read as it was written");
  }
}

void FaultWorld::Expect(bool holds, const std::string& promise) {
  if (!holds && broken_.empty()) broken_ = promise;
}

void FaultWorld::Send(const Event& event) {
  if (!broken_.empty()) return;
  arrival_answered_ = false;
  Told& told = history_.emplace_back(Told{now_, event, {}});
  core_->Apply(event, now_, told.actions);
  for (const Action& action : told.actions) {
    // FNV-1a: short, and the same everywhere.
    for (const char c : FormatAction(now_, action))
      digest_ = (digest_ ^ static_cast<unsigned char>(c)) * 1099511628211u;
    Take(event, action);
  }
  if (history_.size() > kHistory) history_.pop_front();
  CheckAfter(event);
}

// As the host does: a timer for the next deadline, until then. A host under load may be late.
void FaultWorld::FireTimers(Instant until, int most) {
  for (int i = 0; i < most && broken_.empty(); ++i) {
    const std::optional<Instant> next = core_->NextDeadline();
    if (!next || *next > until) break;
    now_ = std::max(now_, *next);
    Send(TimerFired{});
  }
  now_ = std::max(now_, until);
}

void FaultWorld::Take(const Event& event, const Action& action) {
  const RequestId id = RequestOf(action);
  const auto found = open_.find(id);
  Expect(found != open_.end(), "an action names an open request");
  if (found == open_.end()) return;
  Request& request = found->second;
  const RequestArrived* arrived = std::get_if<RequestArrived>(&event);
  const bool arriving = arrived != nullptr && arrived->request == id;
  if (std::holds_alternative<Abort>(action)) {
    Expect(request.phase == Phase::kForwarded, "only what runs is aborted");
    Expect(request.arrived.regenerable, "only what can be placed again is aborted");
    Expect(std::get<Abort>(action).lease == request.lease, "an abort names the lease of the forward");
    request.phase = Phase::kAborting;
    ++aborts_;
    return;
  }
  Expect(request.phase == Phase::kWaiting, "only what waits is answered");
  Expect(request.answered || arriving, "an arrival is answered in its own event");
  Expect(!arriving || !std::exchange(arrival_answered_, true), "an arrival is answered once");
  request.answered = true;
  if (const Forward* forward = std::get_if<Forward>(&action)) TakeForward(*forward);
  if (const Refuse* refuse = std::get_if<Refuse>(&action)) TakeRefuse(*refuse, arriving);
}

void FaultWorld::TakeForward(const Forward& forward) {
  Request& request = open_.at(forward.request);
  Expect(forward.replica.value() < fleet_.replicas.size(), "a forward names a replica");
  if (!broken_.empty()) return;
  const ReplicaSpec& spec = fleet_.replicas[forward.replica.value()];
  const Health health = health_[forward.replica.value()];
  Expect(!spec.removed, "nothing is sent to a removed replica");
  Expect(std::find(spec.models.begin(), spec.models.end(), request.arrived.model) != spec.models.end(),
         "a request goes where its model is served");
  Expect(health == Health::kUp || health == Health::kProbing, "nothing is sent to a replica that is not up");
  int64_t sequences = 0;
  for (const auto& [id, other] : open_) {
    const bool there = other.phase == Phase::kForwarded && other.replica == forward.replica;
    Expect(health != Health::kProbing || !there, "a replica on probation gets one request at a time");
    Expect(other.phase == Phase::kWaiting || other.lease != forward.lease, "a lease has one holder");
    sequences += there ? other.arrived.sequences : 0;
  }
  Expect(sequences == 0 || sequences + request.arrived.sequences <= spec.max_sequences,
         "a replica runs no more sequences than it has rows, but for one request alone");
  Expect(forward.waited >= Duration() && forward.waited <= now_ - request.arrival, "the wait began at the arrival");
  request.phase = Phase::kForwarded;
  request.replica = forward.replica;
  request.lease = forward.lease;
  ++forwards_;
}

void FaultWorld::TakeRefuse(const Refuse& refuse, bool arriving) {
  const RefusalTraits& traits = TraitsOf(refuse.reason);
  Expect(!shutting_down_ || !arriving || refuse.reason == Refusal::kShuttingDown, "arrivals are refused by a drain");
  Expect(!traits.retryable || refuse.retry_after > Duration(), "a refusal that may be retried says when");
  open_.erase(refuse.request);
}

void FaultWorld::CheckAfter(const Event& event) {
  if (std::holds_alternative<RequestArrived>(event))
    Expect(arrival_answered_, "an arrival is answered in its own event");
  if (std::holds_alternative<TimerFired>(event)) {
    const std::optional<Instant> next = core_->NextDeadline();
    const bool due_again = next && *next <= now_;
    timers_on_end_ = due_again ? timers_on_end_ + 1 : 0;
    Expect(timers_on_end_ < kMostTimersOnEnd, "what a timer leaves undone is done soon");
  }
  CheckView(core_->View(now_));
}

void FaultWorld::CheckView(const CoreView& view) {
  Expect(view.counters.book_drifts == 0, "every book is the sum of its members");
  int64_t waiting = 0;
  Bytes bytes{0};
  std::vector<int64_t> running(fleet_.replicas.size(), 0);
  bool anything_runs = false;
  for (const auto& [id, request] : open_) {
    const bool waits = request.phase == Phase::kWaiting;
    if (waits) bytes += request.arrived.body;
    waiting += waits ? 1 : 0;
    anything_runs = anything_runs || !waits;
    if (request.phase == Phase::kForwarded) ++running[request.replica.value()];
    Expect(core_->WaitOf(id).has_value() == waits, "every waiting request, and no other, knows why it waits");
  }
  Expect(view.queued_requests == waiting, "the queue counts what waits");
  Expect(view.queued_bytes == bytes, "the queue counts the bytes of what waits");
  int64_t in_lanes = 0;
  for (const LaneView& lane : view.lanes) in_lanes += lane.waiting;
  Expect(in_lanes == waiting, "the lanes hold what waits");
  Expect(view.replicas.size() == running.size(), "every replica is seen");
  for (size_t i = 0; i < std::min(running.size(), view.replicas.size()); ++i) {
    const ReplicaView& replica = view.replicas[i];
    Expect(replica.running == running[i], "a replica runs what was forwarded to it");
    Expect(replica.prefilling >= 0 && replica.prefilling <= replica.running, "what prefills runs");
    Expect(replica.backlog >= Tokens(0), "a backlog is not negative");
    Expect(replica.running > 0 || replica.backlog == Tokens(0), "an idle replica has no backlog");
    Expect(replica.step_factor > 0 && replica.tokens_per_s >= 0, "a pace is positive");
  }
  CheckPools(view, anything_runs);
  CheckNothingWaitsForAnIdleReplica(view);
}

bool FaultWorld::FitsAlone(const Request& request, const ReplicaSpec& spec) const {
  const Tokens prompt = request.arrived.prompt + Tokens(request.generated);
  if (spec.max_context > Tokens(0) && prompt >= spec.max_context) return false;
  return std::all_of(spec.pools.begin(), spec.pools.end(), [&](const PoolShare& share) {
    return share.footprint.Of(prompt) <= fleet_.pools[share.pool.value()].capacity;
  });
}

// An idle replica takes waiting requests, unless something is due at once. A request that failed there may go
// elsewhere, and one that fits elsewhere only holds back those behind it. The check fails only where there is neither.
void FaultWorld::CheckNothingWaitsForAnIdleReplica(const CoreView& view) {
  const std::optional<Instant> next = core_->NextDeadline();
  if (!variant_.gpu_wide || !broken_.empty() || (next && *next <= now_)) return;
  for (size_t i = 0; i < fleet_.replicas.size(); ++i) {
    const ReplicaSpec& spec = fleet_.replicas[i];
    const bool idle = !spec.removed && health_[i] == Health::kUp && view.replicas[i].running == 0 &&
                      std::all_of(spec.pools.begin(), spec.pools.end(), [&](const PoolShare& share) {
                        const PoolView& pool = view.pools[share.pool.value()];
                        return pool.promised == Amount(0) && pool.draining == Amount(0);
                      });
    if (!idle) continue;
    for (ModelId model : spec.models) {
      const Request* first = nullptr;
      bool all_fit = true;
      for (const auto& [id, request] : open_) {
        if (request.phase != Phase::kWaiting || request.arrived.model != model) continue;
        first = &request;
        all_fit = all_fit && !request.avoids && FitsAlone(request, spec);
      }
      if (first == nullptr || !all_fit) continue;
      Expect(false, absl::StrCat("nothing waits for an idle replica: ", first->arrived.request.value(), " for ", i));
    }
  }
}

void FaultWorld::CheckPools(const CoreView& view, bool anything_runs) {
  for (const PoolView& pool : view.pools) {
    Expect(pool.held >= Amount(0) && pool.held <= pool.promised, "what is held was promised");
    Expect(pool.draining >= Amount(0), "draining memory is not negative");
    Expect(pool.foreign >= Amount(0) && pool.overdraft >= Amount(0), "foreign use and overdraft are not negative");
    Expect(anything_runs || (pool.promised == Amount(0) && pool.held == Amount(0)),
           "nothing runs, nothing is promised");
    Expect(anything_runs || pool.forecast_peak <= Amount(1), "nothing runs, no growth is forecast");
    Expect(pool.z >= 0.5 && pool.z <= 3, "the risk stays within its bounds");
  }
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
  if (open_.size() >= kMostOpen) return;
  RequestArrived event;
  event.request = RequestId(static_cast<uint64_t>(next_request_++));
  event.model = ModelId(static_cast<uint32_t>(choices_.Below(fleet_.models.size() + (choices_.OneIn(50) ? 1 : 0))));
  event.service_class = ClassId(static_cast<uint32_t>(choices_.Below(fleet_.classes.size())));
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
  Request request;
  request.arrived = event;
  request.arrival = now_;
  open_[event.request] = request;
  Send(event);
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
  FireTimers(now_ + passed, kTimersPerStep);
}

FaultWorld::Request* FaultWorld::Any(Phase phase) {
  std::vector<Request*> found;
  for (auto& [id, request] : open_) {
    if (request.phase == phase) found.push_back(&request);
  }
  return found.empty() ? nullptr : found[choices_.Below(found.size())];
}

void FaultWorld::Close(const Request& request, Outcome outcome) {
  RequestClosed closed;
  closed.request = request.arrived.request;
  closed.outcome = outcome;
  if (choices_.OneIn(2)) closed.prompt = request.arrived.prompt + Tokens(3);
  closed.output = Tokens(request.generated);
  closed.hit_limit = choices_.OneIn(5);
  open_.erase(closed.request);
  Send(closed);
}

void FaultWorld::Requeue(Request& request, bool avoid) {
  const bool keeps = !request.arrived.embedding && choices_.OneIn(2);
  if (!keeps) request.generated = 0;
  request.phase = Phase::kWaiting;
  request.avoids = request.avoids || avoid;
  Send(RequestRequeued{request.arrived.request, Tokens(request.generated), avoid});
}

void FaultWorld::ClientLeaves() {
  if (open_.empty()) return;
  Close(std::next(open_.begin(), static_cast<int64_t>(choices_.Below(open_.size())))->second, Outcome::kClientGone);
}

// Steps of some replicas, with first tokens and counts that differ from the steps.
void FaultWorld::TokensCome() {
  Progress progress;
  for (uint32_t i = 0; i < fleet_.replicas.size(); ++i) {
    if (choices_.OneIn(2)) continue;
    progress.replicas.push_back({ReplicaId(i), static_cast<int64_t>(choices_.Below(12)),
                                 now_ - Duration::Milliseconds(static_cast<int64_t>(choices_.Below(30)))});
  }
  std::vector<RequestId> first;
  for (auto& [id, request] : open_) {
    if (request.phase != Phase::kForwarded || !request.arrived.observed || choices_.OneIn(2)) continue;
    if (request.generated == 0 || choices_.OneIn(20)) first.push_back(id);
    request.generated += 1 + static_cast<int64_t>(choices_.Below(20));
    if (variant_.output_of) request.generated = std::min(request.generated, variant_.output_of(id).value());
    if (choices_.OneIn(3)) progress.corrections.push_back({id, Tokens(request.generated)});
  }
  for (RequestId id : first) Send(FirstToken{id});
  Send(progress);
}

void FaultWorld::RequestEnds() {
  if (const Request* request = Any(Phase::kForwarded)) Close(*request, Outcome::kFinished);
}

void FaultWorld::RequestFails() {
  Request* request = Any(Phase::kForwarded);
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
  Request* request = Any(Phase::kAborting);
  if (request == nullptr) return;
  if (choices_.OneIn(4)) return Close(*request, choices_.OneIn(2) ? Outcome::kFinished : Outcome::kClientGone);
  Requeue(*request, false);
}

// A replica that dies fails its requests, one after another, before or after the core hears of it.
void FaultWorld::ReplicaChanges() {
  const ReplicaId replica = AnyReplica();
  static constexpr Health kStates[] = {Health::kDown, Health::kUp, Health::kUp, Health::kProbing, Health::kDraining};
  const Health health = kStates[choices_.Below(std::size(kStates))];
  const bool told_first = choices_.OneIn(2);
  const auto tell = [&] {
    health_[replica.value()] = health;
    Send(ReplicaHealth{replica, health});
  };
  if (told_first) tell();
  if (health == Health::kDown) {
    std::vector<RequestId> lost;
    for (const auto& [id, request] : open_) {
      if (request.phase == Phase::kForwarded && request.replica == replica) lost.push_back(id);
    }
    for (RequestId id : lost) {
      const auto found = open_.find(id);
      if (found == open_.end() || found->second.phase != Phase::kForwarded) continue;
      if (choices_.OneIn(3)) {
        Close(found->second, Outcome::kEngineFailed);
      } else {
        Requeue(found->second, true);
      }
    }
  }
  if (!told_first) tell();
}

void FaultWorld::EngineReports() {
  EngineReport report;
  report.replica = AnyReplica();
  report.sampled_at = now_ - Duration::Milliseconds(static_cast<int64_t>(choices_.Below(400)));
  if (!choices_.OneIn(5)) report.kv_used_share = static_cast<double>(choices_.Below(130)) / 100;
  if (!choices_.OneIn(5)) report.running = static_cast<int>(choices_.Below(40));
  if (!choices_.OneIn(5)) report.waiting = static_cast<int>(choices_.Below(10));
  if (!choices_.OneIn(3)) report.preemptions = static_cast<int64_t>(choices_.Below(50));
  Send(report);
}

void FaultWorld::Reload() {
  ChangeFleet(choices_, fleet_);
  health_.resize(fleet_.replicas.size(), Health::kDown);
  Send(FleetChanged{fleet_});
}

// Events that cross others, come twice, or name what is not there; a drain once in a while.
void FaultWorld::Nonsense() {
  const RequestId unknown(static_cast<uint64_t>(next_request_) + 1'000'000);
  switch (choices_.Below(8)) {
    case 0:
      return Send(FirstToken{unknown});
    case 1:
      return Send(RequestClosed{unknown, Outcome::kFinished, Tokens(5), Tokens(5), false});
    case 2:
      return Send(RequestRequeued{unknown, Tokens(0), true});
    case 3:
      return Send(Progress{{{ReplicaId(77), 3, now_}}, {{unknown, Tokens(3)}}});
    case 4:
      return Send(ReplicaHealth{ReplicaId(77), Health::kUp});
    case 5:
      return Send(EngineReport{ReplicaId(77), now_, 0.5, 1, 1, 1});
    case 6:
      return Send(TimerFired{});
    default:
      if (!choices_.OneIn(4)) return;
      shutting_down_ = true;
      return Send(ShutdownStarted{});
  }
}

void FaultWorld::Calm() {
  MakeRoom(fleet_);
  for (ReplicaSpec& replica : fleet_.replicas) replica.removed = false;
  Send(FleetChanged{fleet_});
  for (uint32_t i = 0; i < fleet_.replicas.size(); ++i) {
    health_[i] = Health::kUp;
    Send(ReplicaHealth{ReplicaId(i), Health::kUp});
    Send(EngineReport{ReplicaId(i), now_, 0, 0, 0, -1});
  }
  for (int round = 0; round < kCalmRounds && !open_.empty() && broken_.empty(); ++round) {
    FireTimers(now_ + Duration::Milliseconds(200), kTimersPerStep);
    if (open_.empty()) break;
    std::vector<RequestId> ending;
    for (auto& [id, request] : open_) {
      if (request.phase != Phase::kWaiting) ending.push_back(id);
    }
    for (RequestId id : ending) {
      const auto found = open_.find(id);
      if (found == open_.end() || found->second.phase == Phase::kWaiting) continue;
      if (found->second.phase == Phase::kAborting) {
        Requeue(found->second, false);
      } else {
        if (found->second.arrived.observed && found->second.generated == 0) Send(FirstToken{id});
        Close(found->second, Outcome::kFinished);
      }
    }
  }
  Expect(open_.empty(), "in calm every request ends");
  FireTimers(now_ + Duration::Seconds(20), kTimersPerStep);
  Send(TimerFired{});
  for (const PoolView& pool : core_->View(now_).pools) {
    Expect(pool.draining == Amount(0), "in calm nothing stays draining");
  }
  Expect(!core_->NextDeadline().has_value(), "in calm nothing is due");
}

}  // namespace penstock::testing
