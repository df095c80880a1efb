#include "tests/core/watched_core.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "router/core/contract/event_log.h"
#include "router/core/penstock_core.h"

namespace penstock::testing {
namespace {

constexpr size_t kHistory = 60;
constexpr int kMostTimersOnEnd = 30;

}  // namespace

std::string WatchedCore::History() const {
  std::string text;
  for (const Step& step : history_) {
    text += FormatEvent(step.at, step.event) + "\n";
    for (const Action& action : step.actions) text += "  -> " + FormatAction(step.at, action) + "\n";
  }
  return text;
}

void WatchedCore::CheckLog() {
  for (const Step& step : history_) {
    const std::string written = FormatEvent(step.at, step.event);
    const auto read = ParseEvent(written);
    Expect(read.ok() && read->first == step.at && read->second == step.event,
           absl::StrCat("an event is read as it was written: ", written));
  }
}

void WatchedCore::Expect(bool holds, const std::string& promise) {
  if (!holds && broken_.empty()) broken_ = promise;
}

void WatchedCore::Send(const Event& event) {
  if (!broken_.empty()) return;
  arrival_answered_ = false;
  Step& step = history_.emplace_back(Step{now, event, {}});
  if (const auto* health_event = std::get_if<ReplicaHealth>(&event)) NoteHealth(*health_event);
  core_->Apply(event, now, step.actions);
  gpu_time_.Take(event, now, step.actions);
  for (const Action& action : step.actions) {
    // FNV-1a: short, and the same everywhere.
    for (const char c : FormatAction(now, action)) digest_ = (digest_ ^ static_cast<unsigned char>(c)) * 1099511628211u;
    Take(event, action);
  }
  if (history_.size() > kHistory) history_.pop_front();
  CheckAfter(event);
}

// As the host does: a timer for the next deadline, until then. A host under load may be late.
void WatchedCore::FireTimers(Instant until, int most) {
  for (int i = 0; i < most && broken_.empty(); ++i) {
    const std::optional<Instant> next = core_->NextDeadline();
    if (!next || *next > until) break;
    now = std::max(now, *next);
    Send(TimerFired{});
  }
  now = std::max(now, until);
}

void WatchedCore::Take(const Event& event, const Action& action) {
  const std::optional<RequestAction> of_request = RequestActionOf(action);
  if (!of_request) return;
  const RequestId id = RequestOf(*of_request);
  const auto found = open.find(id);
  Expect(found != open.end(), "an action names an open request");
  if (found == open.end()) return;
  OpenRequest& request = found->second;
  const RequestArrived* arrived = std::get_if<RequestArrived>(&event);
  const bool arriving = arrived != nullptr && arrived->request == id;
  if (std::holds_alternative<Abort>(action)) {
    Expect(request.phase == Phase::kForwarded, "only what runs is aborted");
    Expect(request.arrived.regenerable, "only what can be placed again is aborted");
    Expect(std::get<Abort>(action).lease == request.lease, "an abort names the lease of the forward");
    request.phase = Phase::kAborting;
    ++counts_.aborts;
    return;
  }
  Expect(request.phase == Phase::kWaiting, "only what waits is answered");
  Expect(request.answered || arriving, "an arrival is answered in its own event");
  Expect(!arriving || !std::exchange(arrival_answered_, true), "an arrival is answered once");
  request.answered = true;
  if (arriving && !std::holds_alternative<Refuse>(action)) CheckTenantOf(request);
  if (const Forward* forward = std::get_if<Forward>(&action)) TakeForward(*forward);
  if (const Refuse* refuse = std::get_if<Refuse>(&action)) TakeRefuse(*refuse, arriving);
}

void WatchedCore::NoteHealth(const ReplicaHealth& event) {
  Health& before = told_.try_emplace(event.replica, Health::kDown).first->second;
  if (event.health == Health::kProbing && before != Health::kProbing) {
    for (auto& [id, other] : open) other.probe = other.probe && other.replica != event.replica;
  }
  before = event.health;
}

void WatchedCore::CheckTenantOf(OpenRequest& request) {
  for (const TenantSpec& tenant : fleet.tenants) {
    if (tenant.id != request.arrived.tenant || !tenant.limits.any()) continue;
    request.limited = true;
    if (tenant.limits.max_concurrent == 0) continue;
    const auto count = std::count_if(open.begin(), open.end(), [&tenant](const auto& entry) {
      return entry.second.limited && entry.second.arrived.tenant == tenant.id;
    });
    Expect(count <= tenant.limits.max_concurrent, "no arrival passes the limit of its tenant");
  }
}

void WatchedCore::TakeForward(const Forward& forward) {
  OpenRequest& request = open.at(forward.request);
  Expect(forward.replica.value() < fleet.replicas.size(), "a forward names a replica");
  if (!broken_.empty()) return;
  const ReplicaSpec& spec = fleet.replicas[forward.replica.value()];
  const Health its_health = health[forward.replica.value()];
  Expect(!spec.removed, "nothing is sent to a removed replica");
  Expect(std::find(spec.models.begin(), spec.models.end(), request.arrived.model) != spec.models.end(),
         "a request goes where its model is served");
  Expect(its_health == Health::kUp || its_health == Health::kProbing, "nothing is sent to a replica that is not up");
  int64_t sequences = 0;
  for (const auto& [id, other] : open) {
    const bool there = other.phase == Phase::kForwarded && other.replica == forward.replica;
    Expect(its_health != Health::kProbing || !(there && other.probe),
           "a replica on probation gets one request at a time");
    Expect(other.phase == Phase::kWaiting || other.lease != forward.lease, "a lease has one holder");
    sequences += there ? other.arrived.sequences : 0;
  }
  Expect(sequences == 0 || sequences + request.arrived.sequences <= spec.max_sequences,
         "a replica runs no more sequences than it has rows, but for one request alone");
  Expect(forward.waited >= Duration() && forward.waited <= now - request.arrival, "the wait began at the arrival");
  request.phase = Phase::kForwarded;
  request.probe = its_health == Health::kProbing;
  request.replica = forward.replica;
  request.lease = forward.lease;
  ++counts_.forwards;
}

void WatchedCore::TakeRefuse(const Refuse& refuse, bool arriving) {
  const RefusalTraits& traits = TraitsOf(refuse.reason);
  Expect(!shutting_down || !arriving || refuse.reason == Refusal::kShuttingDown, "arrivals are refused by a drain");
  Expect(!traits.retryable || refuse.retry_after > Duration(), "a refusal that may be retried says when");
  const bool over_limit = refuse.reason == Refusal::kTenantRequests || refuse.reason == Refusal::kTenantTokens;
  Expect(!over_limit || arriving, "only an arrival is refused for its tenant's limit");
  counts_.over_limit += over_limit ? 1 : 0;
  open.erase(refuse.request);
}

void WatchedCore::CheckAfter(const Event& event) {
  if (std::holds_alternative<RequestArrived>(event))
    Expect(arrival_answered_, "an arrival is answered in its own event");
  if (std::holds_alternative<TimerFired>(event)) {
    const std::optional<Instant> next = core_->NextDeadline();
    const bool due_again = next && *next <= now;
    timers_on_end_ = due_again ? timers_on_end_ + 1 : 0;
    Expect(timers_on_end_ < kMostTimersOnEnd, "what a timer leaves undone is done soon");
  }
  CheckView(core_->View(now));
  const std::string gpu_time = gpu_time_.Broken();
  Expect(gpu_time.empty(), gpu_time);
  Expect(gpu_time_.requests() == open.size(), "the book of the GPUs' work has every open request, and no other");
}

void WatchedCore::CheckView(const CoreView& view) {
  if (view.counters.book_drifts > 0) {
    const auto* core = dynamic_cast<const PenstockCore*>(core_.get());
    Expect(false,
           absl::StrCat("every book is the sum of its members, but ", core != nullptr ? core->CheckBooks() : ""));
  }
  int64_t waiting = 0;
  Bytes bytes{0};
  std::vector<int64_t> running(fleet.replicas.size(), 0);
  bool anything_runs = false;
  for (const auto& [id, request] : open) {
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
    Expect(replica.backlog.tokens >= Tokens(0) && replica.backlog.pairs >= TokenPairs(0), "a backlog is not negative");
    Expect(replica.running > 0 || replica.backlog == PrefillWork(), "an idle replica has no backlog");
    Expect(replica.step_factor > 0 && replica.tokens_per_s >= 0, "a pace is positive");
  }
  CheckPools(view, anything_runs);
  CheckNothingWaitsForAnIdleReplica(view);
}

bool WatchedCore::FitsAlone(const OpenRequest& request, const ReplicaSpec& spec, const CoreView& view) const {
  const Tokens prompt = request.arrived.prompt + Tokens(request.generated);
  if (spec.max_context > Tokens(0) && prompt >= spec.max_context) return false;
  return std::all_of(spec.pools.begin(), spec.pools.end(), [&](const PoolShare& share) {
    const Amount others = view.pools[share.pool.value()].foreign;
    return share.footprint.Of(prompt) <= fleet.pools[share.pool.value()].capacity - others;
  });
}

// An idle replica takes waiting requests, unless something is due at once, or others left it no room. A request that
// failed there may go elsewhere, and one that fits elsewhere only holds back those behind it. A parked stream is not
// due yet. A replica whose node is closed is spared while another one serves the model, and so is one that was found
// slow or still. The check fails only where there is none of these.
void WatchedCore::CheckNothingWaitsForAnIdleReplica(const CoreView& view) {
  const std::optional<Instant> next = core_->NextDeadline();
  if (!variant_.gpu_wide || !broken_.empty() || (next && *next <= now)) return;
  for (size_t i = 0; i < fleet.replicas.size(); ++i) {
    const ReplicaSpec& spec = fleet.replicas[i];
    const bool idle = !spec.removed && health[i] == Health::kUp && view.replicas[i].running == 0 &&
                      !view.replicas[i].node.closed && view.replicas[i].grey.derate <= 1 &&
                      !view.replicas[i].grey.stalled &&
                      std::all_of(spec.pools.begin(), spec.pools.end(), [&](const PoolShare& share) {
                        const PoolView& pool = view.pools[share.pool.value()];
                        return pool.promised == Amount(0) && pool.draining == Amount(0);
                      });
    if (!idle) continue;
    for (ModelId model : spec.models) {
      const OpenRequest* first = nullptr;
      bool all_fit = true;
      for (const auto& [id, request] : open) {
        if (request.phase != Phase::kWaiting || request.arrived.model != model) continue;
        const std::optional<WaitView> wait = core_->WaitOf(id);
        // A prompt that another replica computes is not computed again.
        if (wait && (wait->reason == WaitReason::kParked || wait->reason == WaitReason::kFirstPrefill)) continue;
        first = &request;
        all_fit = all_fit && !request.avoids && FitsAlone(request, spec, view);
      }
      if (first == nullptr || !all_fit) continue;
      const std::optional<WaitView> wait = core_->WaitOf(first->arrived.request);
      Expect(false, absl::StrCat("nothing waits for an idle replica: ", first->arrived.request.value(), " for ", i,
                                 ", ", wait ? TraitsOf(wait->reason).label : "unknown"));
    }
  }
}

void WatchedCore::CheckPools(const CoreView& view, bool anything_runs) {
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

}  // namespace penstock::testing
