// The events of a core on their way to the shadow's thread: bounded, without a lock, and never waiting.
//
// One producer (the holder of the core's lock) and one consumer. A slot keeps the memory of its last event, which an
// event of the same kind takes over. A queue that is full drops events from then on, and says so. It saves those that
// change the fleet. The consumer takes these when it has emptied the queue, and the flow begins again. Push costs a
// copy of the event.
#ifndef PENSTOCK_APP_SHADOW_SEEN_QUEUE_H_
#define PENSTOCK_APP_SHADOW_SEEN_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "router/core/contract/action.h"
#include "router/core/contract/event.h"

namespace penstock {

struct SeenEvent {
  Event event;
  Instant now;
  std::vector<Action> actions;
};

class SeenQueue {
 public:
  explicit SeenQueue(size_t capacity) : slots_(capacity) {}

  // The producer.
  void Push(const Event& event, Instant now, const std::vector<Action>& actions) {
    const uint64_t head = head_.load(std::memory_order_relaxed);
    if (!dropping_.load(std::memory_order_acquire) && head - tail_.load(std::memory_order_acquire) < slots_.size()) {
      SeenEvent& slot = slots_[head % slots_.size()];
      slot.event = event;
      slot.now = now;
      slot.actions = actions;
      head_.store(head + 1, std::memory_order_release);
      return;
    }
    Drop(event, now);
  }

  // The consumer: the oldest event, valid until Pop; null: there is none.
  const SeenEvent* Front() const {
    const uint64_t tail = tail_.load(std::memory_order_relaxed);
    return tail == head_.load(std::memory_order_acquire) ? nullptr : &slots_[tail % slots_.size()];
  }
  void Pop() { tail_.store(tail_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

  // Events were lost after the last one in the queue.
  bool dropping() const { return dropping_.load(std::memory_order_acquire); }
  // The queue is empty. Returns the events that were saved; the flow begins again.
  std::vector<SeenEvent> Recover() {
    std::lock_guard lock(mutex_);
    dropping_.store(false, std::memory_order_release);
    return std::exchange(saved_, {});
  }
  int64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  static bool MustBeSaved(const Event& event) {
    return std::holds_alternative<FleetChanged>(event) || std::holds_alternative<ReplicaHealth>(event) ||
           std::holds_alternative<ReplicaResidency>(event) || std::holds_alternative<AdapterResidency>(event) ||
           std::holds_alternative<ShutdownStarted>(event);
  }
  // Recover may run meanwhile: what it misses is taken with the next one.
  void Drop(const Event& event, Instant now) {
    std::lock_guard lock(mutex_);
    dropping_.store(true, std::memory_order_release);
    if (MustBeSaved(event)) {
      saved_.push_back({event, now, {}});
    } else {
      dropped_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  std::vector<SeenEvent> slots_;
  std::atomic<uint64_t> head_{0};
  std::atomic<uint64_t> tail_{0};
  std::atomic<bool> dropping_{false};
  std::atomic<int64_t> dropped_{0};
  std::mutex mutex_;  // Guards the list below; taken only while events are dropped.
  std::vector<SeenEvent> saved_;
};

}  // namespace penstock

#endif  // PENSTOCK_APP_SHADOW_SEEN_QUEUE_H_
