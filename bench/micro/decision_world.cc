#include "bench/micro/decision_world.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "router/core/contract/event_log.h"

namespace penstock::bench {
namespace {

constexpr uint64_t kAgent = 0, kChat = 1, kCode = 2;
constexpr Duration kSamplePeriod = Duration::Milliseconds(25);
constexpr Duration kReportPeriod = Duration::Milliseconds(250);
constexpr int64_t kPoolTokens = 300'000;
constexpr uint64_t kFamilies = 20;
constexpr int64_t kFamilyBlocks = 4;  // The system prompt that the sessions of a family share.
// Requests per second and replica that about fill it.
constexpr std::array<double, 3> kFull = {3.5, 8, 8};

double CpuMicroseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

// Eight of ten replicas serve the agent, one serves chat and one code.
uint64_t ModelOf(uint32_t replica) { return replica % 10 == 3 ? kChat : replica % 10 == 7 ? kCode : kAgent; }

Fleet MakeFleet(uint32_t replicas) {
  Fleet fleet;
  fleet.models = {{"agent"}, {"chat"}, {"code"}};
  fleet.classes = {
      {"interactive", Duration::Seconds(2), Duration::Milliseconds(60), Duration::Seconds(30), true, false},
      {"standard", Duration::Seconds(8), Duration::Milliseconds(120), Duration::Seconds(60), true, false}};
  for (uint32_t i = 0; i < replicas; ++i) {
    PoolSpec pool;
    pool.name = "pool" + std::to_string(i);
    pool.capacity = Amount(kPoolTokens);
    pool.in_bytes = false;
    fleet.pools.push_back(pool);
    ReplicaSpec replica;
    replica.name = "replica" + std::to_string(i);
    replica.models = {ModelId(static_cast<uint32_t>(ModelOf(i)))};
    // One pair of ten shares a GPU and its memory.
    const uint32_t gpu = i % 10 == 7 ? i - 4 : i;
    replica.pools.push_back({PoolId(gpu), Footprint::InTokens(Tokens(16))});
    replica.gpus = {gpu};
    replica.prior = StepCoefficients{11, 0.034, 0.08, 0.057, 1.86};
    replica.max_context = Tokens(131'072);
    replica.prefix_cache = Tokens(kPoolTokens);
    replica.abort_hold = i % 5 == 0 ? Duration::Milliseconds(500) : Duration();
    fleet.replicas.push_back(replica);
  }
  return fleet;
}

}  // namespace

DecisionWorld::DecisionWorld(uint32_t replicas, double load) : fleet_(MakeFleet(replicas)), engines_(replicas) {
  Apply(FleetChanged{fleet_}, EventKind::kTimer);
  std::array<double, 3> serving{};
  for (uint32_t i = 0; i < replicas; ++i) {
    Apply(ReplicaHealth{ReplicaId(i), Health::kUp}, EventKind::kTimer);
    serving[ModelOf(i)] += 1;
    Plan(now_ + Duration::Seconds(kSamplePeriod.seconds() * Unit()), Due::kSample, i);
    Plan(now_ + Duration::Seconds(kReportPeriod.seconds() * Unit()), Due::kReport, i);
  }
  for (uint64_t model = 0; model < 3; ++model) {
    gaps_[model] = 1 / (load * kFull[model] * std::max(0.1, serving[model]));
    // Most requests of the agent are further turns.
    if (model == kAgent) gaps_[model] *= 8;
    if (serving[model] > 0) Plan(now_, Due::kArrival, model);
  }
}

double DecisionWorld::Exponential(double mean) { return -mean * std::log(1 - Unit()); }

void DecisionWorld::Plan(Instant at, Due due, uint64_t which) { plan_.push({at, ++orders_, due, which}); }

void DecisionWorld::Run(Duration duration) {
  const Instant end = now_ + duration;
  while (!plan_.empty() && plan_.top().at <= end) {
    const Planned next = plan_.top();
    plan_.pop();
    while (core_.NextDeadline() && *core_.NextDeadline() < next.at) {
      now_ = std::max(now_, *core_.NextDeadline());
      Apply(TimerFired{}, EventKind::kTimer);
    }
    now_ = next.at;
    Take(next);
  }
  figures_.running = static_cast<int64_t>(requests_.size()) - waiting_;
}

void DecisionWorld::Restart() {
  for (std::vector<float>& costs : costs_) costs.clear();
  const uint64_t digest = figures_.digest;
  figures_ = {};
  figures_.digest = digest;
}

void DecisionWorld::Take(const Planned& planned) {
  const auto replica = static_cast<uint32_t>(planned.which);
  switch (planned.due) {
    case Due::kArrival:
      Plan(now_ + Duration::Seconds(Exponential(gaps_[planned.which])), Due::kArrival, planned.which);
      return Arrive(planned.which);
    case Due::kTurn: {
      const auto session = sessions_.find(planned.which);
      const Session again = session->second;
      sessions_.erase(session);
      return Turn(again);
    }
    case Due::kStep:
      return Step(replica);
    case Due::kSample:
      Plan(now_ + kSamplePeriod, Due::kSample, replica);
      return Sample(replica);
    case Due::kReport:
      Plan(now_ + kReportPeriod, Due::kReport, replica);
      return Report(replica);
  }
}

void DecisionWorld::Arrive(uint64_t model) {
  if (model == kAgent) {
    Session session;
    session.id = ++ids_;
    session.family = random_() % kFamilies;
    session.tokens = 3'000 + static_cast<int64_t>(Exponential(9'000));
    return Turn(session);
  }
  Request request;
  request.arrived.model = ModelId(static_cast<uint32_t>(model));
  request.arrived.prompt = Tokens(100 + static_cast<int64_t>(Exponential(model == kChat ? 800 : 1'600)));
  request.output = 1 + static_cast<int64_t>(Exponential(200));
  Send(std::move(request));
}

void DecisionWorld::Turn(Session session) {
  session.tokens = std::min<int64_t>(100'000, session.tokens + 300 + static_cast<int64_t>(Exponential(1'500)));
  ++session.turns;
  Request request;
  request.session = session;
  request.arrived.model = ModelId(kAgent);
  request.arrived.prompt = Tokens(session.tokens);
  const int64_t blocks = session.tokens / kPrefixBlock.value();
  for (int64_t i = 0; i < blocks; ++i) {
    const uint64_t text = i < kFamilyBlocks ? session.family + 1 : session.id + kFamilies + 1;
    request.arrived.prefix.push_back((text * 0x9E3779B97F4A7C15u) ^ (static_cast<uint64_t>(i) * 0xC2B2AE3D27D4EB4Fu));
  }
  request.output = 1 + static_cast<int64_t>(Exponential(120));
  Send(std::move(request));
}

void DecisionWorld::Send(Request request) {
  const RequestId id(++ids_);
  request.arrived.request = id;
  request.arrived.prompt_sigma = 0.03;
  request.arrived.service_class = ClassId(random_() % 3 == 0 ? 0 : 1);
  request.arrived.tenant = TenantId(static_cast<uint32_t>(random_() % 50));
  ++waiting_;
  const RequestArrived event = request.arrived;
  requests_.emplace(id.value(), std::move(request));
  Apply(event, EventKind::kArrival);
}

PrefillWork DecisionWorld::Prefill(uint32_t replica, std::vector<RequestId>& first) {
  Engine& engine = engines_[replica];
  int64_t room = 2048 - static_cast<int64_t>(engine.decoding.size());
  PrefillWork work;
  while (room > 0 && !engine.prefilling.empty()) {
    Request& request = requests_.at(engine.prefilling.front().value());
    const int64_t here = std::min(room, request.prefill);
    const Tokens computed = request.arrived.prompt - Tokens(request.prefill);
    work += PrefillOf(computed, computed + Tokens(here));
    request.prefill -= here;
    room -= here;
    if (request.prefill > 0) break;
    first.push_back(engine.prefilling.front());
    engine.prefilling.pop_front();
  }
  return work;
}

void DecisionWorld::StartStep(uint32_t replica, const PrefillWork& prefill) {
  Engine& engine = engines_[replica];
  engine.stepping = true;
  const double ms = fleet_.replicas[replica].prior.StepMs(static_cast<double>(engine.decoding.size()),
                                                          static_cast<double>(engine.kv_tokens), prefill);
  Plan(now_ + Duration::Seconds(ms * 1e-3), Due::kStep, replica);
}

void DecisionWorld::Step(uint32_t replica) {
  Engine& engine = engines_[replica];
  ++engine.steps;
  engine.newest = now_;
  std::vector<RequestId> ended;
  engine.kv_tokens = 0;
  for (const RequestId id : engine.decoding) {
    Request& request = requests_.at(id.value());
    engine.kv_tokens += request.arrived.prompt.value() + ++request.generated;
    if (request.generated >= request.output) ended.push_back(id);
  }
  std::erase_if(engine.decoding, [&](RequestId id) { return std::count(ended.begin(), ended.end(), id) > 0; });
  std::vector<RequestId> first;
  const PrefillWork prefill = Prefill(replica, first);
  for (const RequestId id : first) {
    engine.decoding.push_back(id);
    Apply(FirstToken{id}, EventKind::kFirstToken);
  }
  for (const RequestId id : ended) End(id);
  engine.stepping = !engine.decoding.empty() || !engine.prefilling.empty();
  if (engine.stepping) StartStep(replica, prefill);
}

void DecisionWorld::End(RequestId id) {
  const auto found = requests_.find(id.value());
  const Request ended = std::move(found->second);
  requests_.erase(found);
  const bool gone = random_() % 50 == 0;
  Apply(RequestClosed{id, gone ? Outcome::kClientGone : Outcome::kFinished, ended.arrived.prompt, Tokens(ended.output),
                      false, ended.arrived.prefix.empty() ? Tokens(-1) : Tokens(ended.cached)},
        EventKind::kEnd);
  Session session = ended.session;
  if (session.turns == 0 || random_() % 8 == 0) return;
  session.last = ended.replica;
  session.tokens += ended.output;
  const uint64_t key = ++ids_;
  sessions_.emplace(key, session);
  Plan(now_ + Duration::Seconds(Exponential(2)), Due::kTurn, key);
}

void DecisionWorld::Sample(uint32_t replica) {
  Engine& engine = engines_[replica];
  if (engine.steps == 0) return;
  Apply(Progress{{{ReplicaId(replica), std::exchange(engine.steps, 0), engine.newest}}, {}}, EventKind::kProgress);
}

void DecisionWorld::Report(uint32_t replica) {
  const Engine& engine = engines_[replica];
  EngineReport report;
  report.replica = ReplicaId(replica);
  report.sampled_at = now_;
  report.running = static_cast<int>(engine.decoding.size() + engine.prefilling.size());
  report.waiting = 0;
  report.preemptions = 0;
  Apply(report, EventKind::kReport);
}

void DecisionWorld::Apply(const Event& event, EventKind kind) {
  actions_.clear();
  const double from = CpuMicroseconds();
  core_.Apply(event, now_, actions_);
  costs_[static_cast<size_t>(kind)].push_back(static_cast<float>(CpuMicroseconds() - from));
  const std::vector<Action> actions = actions_;
  for (const Action& action : actions) Take(action);
}

void DecisionWorld::Take(const Action& action) {
  // FNV-1a of the action's line.
  for (const char c : FormatAction(now_, action)) {
    figures_.digest = (figures_.digest ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  if (const auto* refuse = std::get_if<Refuse>(&action)) {
    ++figures_.refused;
    --waiting_;
    requests_.erase(refuse->request.value());
  }
  if (const auto* forward = std::get_if<Forward>(&action)) {
    ++figures_.forwarded;
    --waiting_;
    Request& request = requests_.at(forward->request.value());
    const bool again = request.session.turns > 1 && request.session.last == forward->replica;
    const auto blocks = static_cast<int64_t>(request.arrived.prefix.size());
    const int64_t shared = again ? std::max(kFamilyBlocks, blocks - 5) : kFamilyBlocks;
    request.cached = blocks == 0 ? 0 : std::min(shared, blocks) * kPrefixBlock.value();
    request.prefill = std::max<int64_t>(1, request.arrived.prompt.value() - request.cached);
    request.replica = forward->replica;
    Engine& engine = engines_[forward->replica.value()];
    engine.prefilling.push_back(forward->request);
    if (!engine.stepping) StartStep(forward->replica.value(), PrefillWork());
  }
  figures_.most_waiting = std::max(figures_.most_waiting, waiting_);
}

}  // namespace penstock::bench
