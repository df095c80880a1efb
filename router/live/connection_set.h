// The client connections of one loop, and the other coroutines that must end before the loop can stop.
//
// A connection is a member from Enter to Leave; a guest is any other coroutine. Idle connections stand in the order in
// which they became idle, so that a full router closes the oldest one. Used on the loop's own thread, except members
// marked otherwise. Enter and Leave cost one hash operation, SetIdle and SetBusy a few stores.
#ifndef PENSTOCK_ROUTER_LIVE_CONNECTION_SET_H_
#define PENSTOCK_ROUTER_LIVE_CONNECTION_SET_H_

#include <atomic>
#include <functional>

#include "absl/container/flat_hash_set.h"
#include "base/units.h"

namespace penstock {

// A client's connection as its loop knows it. The loop calls it on its own thread.
class LoopConnection {
 public:
  // Ends it at once, or only if no request is being read or answered.
  virtual void Close() = 0;
  virtual void CloseIfIdle() = 0;

 protected:
  virtual ~LoopConnection() = default;

 private:
  friend class ConnectionSet;
  // The neighbours in the list of idle connections.
  LoopConnection* older_ = nullptr;
  LoopConnection* newer_ = nullptr;
  Instant idle_since_ = Instant::Never();  // Never: it is not idle.
};

class ConnectionSet {
 public:
  // `on_empty` runs each time that the last member leaves.
  explicit ConnectionSet(std::function<void()> on_empty);

  void Enter(LoopConnection& connection) { connections_.insert(&connection); }
  void Leave(LoopConnection& connection);
  void EnterGuest() { ++guests_; }
  void LeaveGuest();
  bool empty() const { return guests_ == 0 && connections_.empty(); }

  // A connection waits for a request / has one. `now` never goes back.
  void SetIdle(LoopConnection& connection, Instant now);
  void SetBusy(LoopConnection& connection);

  // Any thread: the time since which the oldest idle connection waits; Never: there is none.
  Instant oldest_idle() const { return Instant::FromNanoseconds(oldest_idle_.load(std::memory_order_relaxed)); }
  // False: none is idle.
  bool CloseOldestIdle();

  // Members may leave during both calls.
  void CloseIdle();
  void CloseAll();

 private:
  void TellIfEmpty();
  void PublishOldest();

  const std::function<void()> on_empty_;
  absl::flat_hash_set<LoopConnection*> connections_;
  LoopConnection* oldest_ = nullptr;
  LoopConnection* newest_ = nullptr;
  int guests_ = 0;
  std::atomic<int64_t> oldest_idle_{Instant::Never().nanoseconds()};
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_CONNECTION_SET_H_
