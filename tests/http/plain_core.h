// A decision core without a policy: forwards at once, round robin, and does what a test tells it to.
#ifndef PENSTOCK_TESTS_HTTP_PLAIN_CORE_H_
#define PENSTOCK_TESTS_HTTP_PLAIN_CORE_H_

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "router/core/contract/admission_core.h"

namespace penstock {

// Set by the test's thread, read inside the core.
struct PlainOrders {
  std::atomic<bool> hold{false};           // Park arrivals for ever.
  std::atomic<int> abort_after{0};         // Abort a stream once it has this many tokens; 0: never.
  std::atomic<bool> refuse_parked{false};  // Refuse what is parked at the next timer.
  std::atomic<bool> sleep{false};          // Order the first replica to sleep, with the next event.
  std::atomic<bool> wake{false};           // And to wake.
  std::atomic<bool> one_by_one{false};     // The attempts of a request go to the replicas in their order, up or not.
  std::atomic<int> prefill{-1};            // The prompt goes to this replica; negative: to that of the answer.
  std::atomic<bool> prefill_once{false};   // For the next Forward only.
  std::atomic<int> views{0};               // Asked for so far.
};

class PlainCore : public AdmissionCore {
 public:
  explicit PlainCore(PlainOrders& orders) : orders_(orders) {}

  void Apply(const Event& event, Instant now, std::vector<Action>& actions) override {
    now_ = now;
    if (orders_.sleep.exchange(false)) actions.push_back(Sleep{ReplicaId(0)});
    if (orders_.wake.exchange(false)) actions.push_back(Wake{ReplicaId(0)});
    if (const auto* arrived = std::get_if<RequestArrived>(&event)) {
      Arrive(*arrived, actions);
    } else if (const auto* closed = std::get_if<RequestClosed>(&event)) {
      live_.erase(closed->request);
    } else if (const auto* returned = std::get_if<RequestRequeued>(&event)) {
      const auto found = live_.find(returned->request);
      if (found != live_.end()) Place(found->first, found->second, returned->avoid_replica, actions);
    } else if (const auto* progress = std::get_if<Progress>(&event)) {
      for (const StreamTokens& stream : progress->corrections) MaybeAbort(stream, actions);
    } else if (const auto* health = std::get_if<ReplicaHealth>(&event)) {
      health_[health->replica] = health->health;
    } else if (const auto* fleet = std::get_if<FleetChanged>(&event)) {
      fleet_ = fleet->fleet;
    } else if (std::holds_alternative<ShutdownStarted>(event)) {
      draining_ = true;
    } else if (std::holds_alternative<TimerFired>(event) && orders_.refuse_parked) {
      for (auto it = live_.begin(); it != live_.end();) {
        if (!it->second.parked) {
          ++it;
          continue;
        }
        actions.push_back(Refuse{it->first, Refusal::kQueueTimeout, Duration::Milliseconds(2500), 0, 0});
        it = live_.erase(it);
      }
    }
  }
  std::optional<Instant> NextDeadline() const override {
    return orders_.hold ? std::optional(now_ + Duration::Milliseconds(20)) : std::nullopt;
  }
  CoreView View(Instant) const override {
    ++orders_.views;
    return CoreView();
  }
  std::optional<WaitView> WaitOf(RequestId) const override { return std::nullopt; }

 private:
  struct Live {
    RequestArrived arrived;
    ReplicaId replica;
    LeaseId lease;
    bool parked = false;
    bool aborted = false;
    size_t tries = 0;
  };

  void Arrive(const RequestArrived& arrived, std::vector<Action>& actions) {
    if (draining_) {
      actions.push_back(Refuse{arrived.request, Refusal::kShuttingDown, Duration::Seconds(1), 0, 0});
      return;
    }
    Live live;
    live.arrived = arrived;
    if (orders_.hold) {
      live.parked = true;
      live_[arrived.request] = live;
      actions.push_back(Park{arrived.request, WaitReason::kMemory, 0});
      return;
    }
    live_[arrived.request] = live;
    Place(arrived.request, live_[arrived.request], false, actions);
  }

  void Place(RequestId id, Live& live, bool avoid, std::vector<Action>& actions) {
    if (orders_.one_by_one && live.tries < fleet_.replicas.size()) {
      return Send(id, live, ReplicaId(static_cast<uint32_t>(live.tries)), actions);
    }
    std::vector<ReplicaId> able;
    for (size_t i = 0; i < fleet_.replicas.size(); ++i) {
      const ReplicaId replica(static_cast<uint32_t>(i));
      const ReplicaSpec& spec = fleet_.replicas[i];
      const bool serves = std::find(spec.models.begin(), spec.models.end(), live.arrived.model) != spec.models.end();
      if (serves && !spec.removed && spec.role != EngineRole::kPrefill && health_[replica] != Health::kDown &&
          health_[replica] != Health::kDraining && !(avoid && replica == live.replica))
        able.push_back(replica);
    }
    if (able.empty() && avoid) return Place(id, live, false, actions);
    if (able.empty()) {
      live_.erase(id);
      actions.push_back(Refuse{id, Refusal::kNoReplica, Duration::Seconds(1), 0, 0});
      return;
    }
    Send(id, live, able[next_++ % able.size()], actions);
  }

  void Send(RequestId id, Live& live, ReplicaId replica, std::vector<Action>& actions) {
    live.replica = replica;
    live.lease = LeaseId(++leases_);
    live.parked = live.aborted = false;
    ++live.tries;
    Forward forward{id, live.replica, live.lease, Duration(), Duration::Milliseconds(5), 0.5};
    const int prefill = orders_.prefill;
    if (prefill >= 0) {
      const ReplicaId first(static_cast<uint32_t>(prefill));
      forward.prefill = PrefillOrder{first, LeaseId(++leases_), Duration::Milliseconds(5)};
    }
    if (orders_.prefill_once) orders_.prefill = -1;
    actions.push_back(forward);
  }

  void MaybeAbort(const StreamTokens& stream, std::vector<Action>& actions) {
    const auto found = live_.find(stream.request);
    if (orders_.abort_after == 0 || found == live_.end() || stream.generated.value() < orders_.abort_after) return;
    if (std::exchange(found->second.aborted, true)) return;
    orders_.abort_after = 0;
    actions.push_back(Abort{stream.request, found->second.lease});
  }

  PlainOrders& orders_;
  Instant now_;
  Fleet fleet_;
  std::map<ReplicaId, Health> health_;
  std::map<RequestId, Live> live_;
  uint64_t leases_ = 0;
  size_t next_ = 0;
  bool draining_ = false;
};

// The events that the core got, for tests to look at.
class EventBook {
 public:
  void Record(const Event& event) {
    std::lock_guard lock(mutex_);
    if (!std::holds_alternative<EngineReport>(event) && !std::holds_alternative<TimerFired>(event))
      events_.push_back(event);
  }
  template <class Kind>
  std::vector<Kind> Of() const {
    std::lock_guard lock(mutex_);
    std::vector<Kind> found;
    for (const Event& event : events_) {
      if (const Kind* kind = std::get_if<Kind>(&event)) found.push_back(*kind);
    }
    return found;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Event> events_;
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_HTTP_PLAIN_CORE_H_
