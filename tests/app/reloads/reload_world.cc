#include "tests/app/reloads/reload_world.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "router/core/contract/event_log.h"
#include "router/core/contract/vacancy.h"
#include "router/core/grey/grey_watch.h"
#include "router/core/tenants/tenant_gate.h"
#include "router/policies/variants/penstock_variants.h"
#include "tests/app/reloads/drawn_config.h"

namespace penstock::testing {
namespace {

constexpr size_t kMostOpen = 60;
constexpr size_t kHistory = 80;
constexpr int kTimersPerStep = 40;
constexpr int kCalmRounds = 2000;
constexpr int kViewsToFree = 3;

// A core whose books are recounted after each event.
std::unique_ptr<AdmissionCore> GatedCore(const PenstockCore** inner) {
  std::unique_ptr<AdmissionCore> core = MakePenstock(PenstockVariant(), 1);
  *inner = dynamic_cast<const PenstockCore*>(core.get());
  return std::make_unique<TenantGate>(std::move(core));
}

}  // namespace

ReloadWorld::ReloadWorld(Choices& choices)
    : choices_(choices), core_(GatedCore(&inner_)), fleet_(choices), engines_(choices, fleet_) {
  Publish();
}

void ReloadWorld::Step() {
  struct Weighted {
    uint64_t weight;
    void (*act)(ReloadWorld& world);
  };
  static constexpr Weighted kActs[] = {
      {18, [](ReloadWorld& world) { world.Arrive(); }},
      {16, [](ReloadWorld& world) { world.TokensCome(); }},
      {12, [](ReloadWorld& world) { world.PassTime(); }},
      {12, [](ReloadWorld& world) { world.RequestEnds(); }},
      {5, [](ReloadWorld& world) { world.RequestMoves(); }},
      {5, [](ReloadWorld& world) { world.PrefillEnds(); }},
      {18, [](ReloadWorld& world) { world.Send(world.engines_.Act(world.now_)); }},
      {6, [](ReloadWorld& world) { world.Send(world.fleet_.Change()); }},
      {3, [](ReloadWorld& world) { world.Publish(); }},
      {5, [](ReloadWorld& world) { world.PlacesLeave(); }},
  };
  uint64_t drawn = choices_.Below(100);
  for (const Weighted& each : kActs) {
    if (drawn < each.weight) return each.act(*this);
    drawn -= each.weight;
  }
}

void ReloadWorld::Publish() {
  Send(fleet_.Publish());
  Send(engines_.Appear());
}

void ReloadWorld::PlacesLeave() {
  Publish();
  uint64_t oldest = fleet_.view();
  for (const auto& [id, request] : open_) oldest = std::min(oldest, request.view);
  Send(fleet_.Vacate(core_->View(now_), oldest, [this](uint32_t place) { return engines_.IsOrdered(place); }));
  Publish();
}

void ReloadWorld::Arrive() {
  if (open_.size() >= kMostOpen) return;
  const std::vector<std::string> names = fleet_.book().ModelNames();
  if (names.empty()) return;
  RequestArrived event;
  event.request = RequestId(next_request_++);
  event.model = *fleet_.book().ModelByName(names[choices_.Below(names.size())]);
  const std::vector<ClassConfig>& classes = fleet_.book().config().classes;
  event.service_class = *fleet_.book().ClassByName(classes[choices_.Below(classes.size())].name);
  event.tenant = TenantId(choices_.Below(4));
  event.prompt = Tokens(1 + static_cast<int64_t>(choices_.Below(choices_.OneIn(6) ? 9000 : 600)));
  event.prompt_sigma = 0.1;
  if (choices_.OneIn(2)) event.max_output = Tokens(1 + static_cast<int64_t>(choices_.Below(2000)));
  event.embedding = choices_.OneIn(10);
  event.observed = !event.embedding && !choices_.OneIn(4);
  event.regenerable = !choices_.OneIn(3);
  event.body = Bytes(static_cast<int64_t>(choices_.Below(10'000)));
  event.session = choices_.Below(5);
  event.shape = choices_.Below(3);
  if (choices_.OneIn(8)) event.home = fleet_.AnyLive();
  for (int64_t i = 0; i < event.prompt.value() / kPrefixBlock.value(); ++i)
    event.prefix.push_back(event.shape * 100 + i);
  open_[event.request] = Open{event, fleet_.view()};
  ++counts_.arrivals;
  Send(event);
}

void ReloadWorld::TokensCome() {
  Progress progress;
  for (uint32_t i = 0; i < fleet_.told().replicas.size(); ++i) {
    if (choices_.OneIn(2)) progress.replicas.push_back({ReplicaId(i), static_cast<int64_t>(choices_.Below(12)), now_});
  }
  std::vector<RequestId> first;
  for (auto& [id, request] : open_) {
    if (request.phase != Phase::kForwarded || request.in_prefill || !request.arrived.observed || choices_.OneIn(2))
      continue;
    if (request.generated == 0) first.push_back(id);
    request.generated += 1 + static_cast<int64_t>(choices_.Below(20));
    if (choices_.OneIn(3)) progress.corrections.push_back({id, Tokens(request.generated)});
  }
  for (RequestId id : first) Send(FirstToken{id});
  Send(progress);
}

void ReloadWorld::RequestEnds() {
  // Now and then a lull: all that is open ends, and the places that it held are free.
  const bool lull = choices_.OneIn(40);
  do {
    if (open_.empty()) return;
    const auto any = std::next(open_.begin(), static_cast<ptrdiff_t>(choices_.Below(open_.size())));
    const bool runs = any->second.phase == Phase::kForwarded;
    Close(any->first, runs && !choices_.OneIn(4) ? Outcome::kFinished : Outcome::kClientGone);
  } while (lull && broken_.empty());
}

void ReloadWorld::Close(RequestId id, Outcome outcome) {
  RequestClosed closed{id, outcome};
  const Open& request = open_.at(id);
  if (choices_.OneIn(2)) closed.prompt = request.arrived.prompt;
  closed.output = Tokens(request.generated);
  open_.erase(id);
  Send(closed);
}

// Its engine failed or pushed back, or it was asked to leave.
void ReloadWorld::RequestMoves() {
  for (auto& [id, request] : open_) {
    const bool failed = request.phase == Phase::kForwarded;
    if (request.phase == Phase::kWaiting || (failed && !choices_.OneIn(4))) continue;
    if (choices_.OneIn(2)) request.generated = 0;
    request.phase = Phase::kWaiting;
    const bool in_prefill = std::exchange(request.in_prefill, false) && choices_.OneIn(2);
    return Send(RequestRequeued{id, Tokens(request.generated), failed, in_prefill});
  }
}

void ReloadWorld::PrefillEnds() {
  for (auto& [id, request] : open_) {
    if (!request.in_prefill || choices_.OneIn(3)) continue;
    request.in_prefill = false;
    return Send(PrefillEnded{id, !choices_.OneIn(4)});
  }
}

void ReloadWorld::PassTime() {
  static constexpr int64_t kMilliseconds[] = {1, 5, 20, 20, 100, 500, 3'000, 20'000};
  FireTimers(now_ + Duration::Milliseconds(kMilliseconds[choices_.Below(std::size(kMilliseconds))]));
}

void ReloadWorld::FireTimers(Instant until) {
  for (int i = 0; i < kTimersPerStep && broken_.empty(); ++i) {
    const std::optional<Instant> next = core_->NextDeadline();
    if (!next || *next > until) break;
    now_ = std::max(now_, *next);
    Send(TimerFired{});
  }
  now_ = std::max(now_, until);
}

void ReloadWorld::Send(const std::vector<Event>& events) {
  for (const Event& event : events) Send(event);
}

void ReloadWorld::Send(const Event& event) {
  if (!broken_.empty()) return;
  Note(std::holds_alternative<FleetChanged>(event) ? "the core learns the fleet" : FormatEvent(now_, event));
  std::vector<Action> actions;
  core_->Apply(event, now_, actions);
  for (const Action& action : actions) {
    Note("  -> " + FormatAction(now_, action));
    if (engines_.Take(action, now_, broken_)) {
      ++counts_.orders;
    } else {
      Take(action);
    }
  }
  CheckBooks();
}

void ReloadWorld::Take(const Action& action) {
  const RequestId id = RequestOf(*RequestActionOf(action));
  const auto found = open_.find(id);
  Expect(found != open_.end(), "an action names an open request");
  if (found == open_.end()) return;
  Open& request = found->second;
  if (std::holds_alternative<Abort>(action)) {
    Expect(request.phase == Phase::kForwarded, "only what runs is aborted");
    request.phase = Phase::kAborting;
    request.in_prefill = false;
  } else {
    Expect(request.phase == Phase::kWaiting, "only what waits is answered");
  }
  if (const auto* forward = std::get_if<Forward>(&action)) TakeForward(*forward);
  if (std::holds_alternative<Refuse>(action)) open_.erase(found);
}

void ReloadWorld::TakeForward(const Forward& forward) {
  Open& request = open_.at(forward.request);
  const ModelId model = request.arrived.model;
  Expect(engines_.Takes(forward.replica, model), "a request goes to a replica that is there, is up and has its model");
  Expect(!forward.prefill || engines_.Takes(forward.prefill->replica, model), "and so does its first stage");
  if (!broken_.empty()) return;
  const auto role = [this](ReplicaId replica) { return fleet_.told().replicas[replica.value()].role; };
  Expect(role(forward.replica) != EngineRole::kPrefill, "no answer comes from a prefill replica");
  Expect(!forward.prefill || role(forward.prefill->replica) == EngineRole::kPrefill, "a first stage has its role");
  Expect(core_->View(now_).replicas[forward.replica.value()].residency == Residency::kAwake,
         "a request goes to a replica that is awake");
  request.phase = Phase::kForwarded;
  request.replica = forward.replica;
  request.in_prefill = forward.prefill.has_value();
  ++counts_.forwards;
  counts_.paired += forward.prefill ? 1 : 0;
}

void ReloadWorld::CheckBooks() {
  const CoreView view = core_->View(now_);
  if (view.counters.book_drifts > 0) {
    Expect(false, absl::StrCat("every book is the sum of its members, but ", inner_ ? inner_->CheckBooks() : ""));
  }
  std::vector<int64_t> running(view.replicas.size());
  int64_t waiting = 0;
  bool runs = false;
  for (const auto& [id, request] : open_) {
    waiting += request.phase == Phase::kWaiting ? 1 : 0;
    runs = runs || request.phase != Phase::kWaiting;
    if (request.phase == Phase::kForwarded) ++running[request.replica.value()];
  }
  Expect(view.queued_requests == waiting, "the queue counts what waits");
  for (size_t i = 0; i < running.size(); ++i) {
    Expect(view.replicas[i].running >= running[i], "a replica runs what was forwarded to it");
    Expect(runs || view.replicas[i].running == 0, "nothing runs, so no replica is busy");
  }
  for (const PoolView& pool : view.pools) {
    Expect(pool.held >= Amount(0) && pool.held <= pool.promised && pool.draining >= Amount(0), "memory adds up");
    Expect(runs || pool.promised == Amount(0), "nothing runs, nothing is promised");
  }
}

void ReloadWorld::Calm() {
  Send(fleet_.Take(CalmConfigText()));
  Publish();
  Send(engines_.AllUp());
  for (int round = 0; round < kCalmRounds && !open_.empty() && broken_.empty(); ++round) {
    while (!engines_.idle() && broken_.empty()) Send(engines_.EndOldestOrder(now_));
    FireTimers(std::max(core_->NextDeadline().value_or(now_), now_ + Duration::Milliseconds(200)));
    std::vector<RequestId> ending;
    for (auto& [id, request] : open_) {
      if (request.phase != Phase::kWaiting) ending.push_back(id);
    }
    for (RequestId id : ending) {
      if (open_.contains(id)) Close(id, Outcome::kFinished);
    }
  }
  Expect(open_.empty(), "in calm every request ends");
  // The last timer may be the trial of a slow replica.
  FireTimers(now_ + GreyWatch::kLongestPause);
  Send(TimerFired{});
  Expect(!core_->NextDeadline().has_value(), "in calm nothing is due");
  while (!engines_.idle() && broken_.empty()) Send(engines_.EndOldestOrder(now_));
  for (int i = 0; i < kViewsToFree; ++i) PlacesLeave();
  for (const ReplicaSpec& replica : fleet_.told().replicas) {
    Expect(!replica.removed || IsVacant(replica), "in calm every place that was left is free: " + replica.name);
  }
}

void ReloadWorld::Expect(bool holds, const std::string& promise) {
  if (!holds && broken_.empty()) broken_ = promise;
}

void ReloadWorld::Note(std::string line) {
  history_.push_back(std::move(line));
  if (history_.size() > kHistory) history_.pop_front();
}

std::string ReloadWorld::History() const {
  std::string text = fleet_.text();
  for (const std::string& line : history_) absl::StrAppend(&text, line, "\n");
  return text;
}

}  // namespace penstock::testing
