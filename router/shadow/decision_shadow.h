// Runs a second decision core on the events of a router, and compares its decisions with what was really done.
//
// The shadow hears every event after the core in charge has answered it, and its own timers. It decides; nobody carries
// that out. When a request is really sent or refused, its books follow (contract/following_core.h), so each decision
// starts from what really runs. One part of its books is its own. A request that only the shadow has sent stays where
// it sent it until reality decides, and gets a first token when that was expected. Without that the same room would be
// found again for each request that waits.
//
// Orders to replicas (sleep, wake, adapters, shares) and aborts are counted, and nobody obeys them. An order to sleep,
// wake or load that was not really given is answered at once with the real state. Refusals by the
// limits of tenants are left out: they hold under every policy. After lost events the engines run requests that the
// books lack. Nothing is compared then until these have closed, or kPatience is over.
//
// Pure: no clock, no thread; one owner. An event costs what it costs the core, and a placement more where the two
// differ.
#ifndef PENSTOCK_ROUTER_SHADOW_DECISION_SHADOW_H_
#define PENSTOCK_ROUTER_SHADOW_DECISION_SHADOW_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "router/core/contract/admission_core.h"
#include "router/core/contract/following_core.h"
#include "router/shadow/shadow_report.h"
#include "router/shadow/shadow_tallies.h"
#include "router/shadow/tracked_request.h"

namespace penstock {

// True: the arrival that was answered so never reached the core behind the limits of tenants.
bool ShadowSkips(const std::vector<Action>& actions);

class DecisionShadow {
 public:
  // A request that ended in reality, with its times; `refused`: by the router.
  using EndHook = std::function<void(const TrackedRequest&, const RequestClosed*, const Service&, Instant)>;

  static constexpr Duration kPatience = Duration::Seconds(300);

  // Every policy of the registry is a FollowingCore; `core` must be one.
  explicit DecisionShadow(std::unique_ptr<AdmissionCore> core);

  // The core in charge took `event` at `now` and answered with `actions`.
  void Take(const Event& event, Instant now, const std::vector<Action>& actions);
  // Events were lost. The books forget every request; those that run are met again only as foreign use.
  void Reset(Instant now);
  // Called for every request that ended, before it is forgotten. May be empty.
  void OnEnd(EndHook hook) { on_end_ = std::move(hook); }

  // Without the counterfactual, and without the figures of the caller's queue.
  ShadowReport Report(Instant now) const;
  CoreView View(Instant now) const { return core_->View(now); }
  const Fleet& fleet() const { return tallies_.fleet(); }
  size_t tracked() const { return tracked_.size(); }

 private:
  using Ahead = std::pair<Instant, RequestId>;

  void RunTimers(const Event& event, Instant now);
  void Hear(const Event& event, Instant now, const std::vector<Action>& actions);
  void HearClosed(const RequestClosed& closed, Instant now);
  void HearRequeued(const RequestRequeued& requeued, Instant now);
  void HearFirst(const FirstToken& first, Instant now);
  void HearProgress(const Progress& progress);
  // Gives the shadow an event and notes its answers.
  void Tell(const Event& event, Instant now);
  void Note(const Action& action, Instant now);
  void Done(const Action& action, Instant now);
  void Place(TrackedRequest& tracked, const Forward& forward, Instant now);
  void Follow(TrackedRequest& tracked, Instant now);
  // The aborts that only the shadow ordered did not happen.
  void UndoAborts(Instant now);
  // The places of replicas that left are given again. Requests that only the shadow has there go elsewhere.
  void Vacate(const Fleet& fleet, Instant now);
  bool Compares(Instant now);
  void End(TrackedRequest& tracked, const RequestClosed* closed, Instant now);
  Tokens Generated(const TrackedRequest& tracked) const;
  TrackedRequest* Find(RequestId id);

  const std::unique_ptr<AdmissionCore> core_;
  FollowingCore& following_;
  ShadowTallies tallies_;
  EndHook on_end_;
  absl::flat_hash_map<RequestId, TrackedRequest> tracked_;
  // Requests that only the shadow has sent, by the time of their expected first token.
  std::priority_queue<Ahead, std::vector<Ahead>, std::greater<>> ahead_;
  std::vector<int64_t> steps_;  // By replica, since start.
  std::vector<Action> answers_;
  std::vector<RequestId> aborted_;
  std::vector<Action> orders_;
  absl::flat_hash_set<RequestId> forgotten_;  // They ran when events were lost.
  Instant silent_until_;                      // At most so long nothing is compared.
  ShadowReport counts_;                       // The counters of this object; the rest is empty.
  std::optional<Instant> started_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SHADOW_DECISION_SHADOW_H_
