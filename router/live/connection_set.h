// The client connections of one loop, and the other coroutines that must end before the loop can stop.
//
// A connection is a member from Enter to Leave; a guest is any other coroutine. Idle connections stand in the order in
// which they became idle, so that a full router closes the oldest one. A connection before its first request is new:
// the request may be on its way. It is closed after a second at the earliest, and only where no other is idle. An owner
// is the client that a connection counts for. Used on the loop's own thread, except members marked otherwise. Enter and
// Leave cost one hash operation, SetIdle, SetNew and SetBusy a few stores.
#ifndef PENSTOCK_ROUTER_LIVE_CONNECTION_SET_H_
#define PENSTOCK_ROUTER_LIVE_CONNECTION_SET_H_

#include <atomic>
#include <cstdint>
#include <functional>

#include "absl/container/flat_hash_set.h"
#include "base/units.h"

namespace penstock {

class ConnectionList;

// A client's connection as its loop knows it. The loop calls it on its own thread.
class LoopConnection {
 public:
  // Ends it at once, or only if no request is answered. A request of which a part came is then refused.
  virtual void Close() = 0;
  virtual void CloseIfIdle() = 0;

 protected:
  virtual ~LoopConnection() = default;

 private:
  friend class ConnectionList;
  friend class ConnectionSet;
  // The neighbours in its list.
  LoopConnection* older_ = nullptr;
  LoopConnection* newer_ = nullptr;
  Instant since_;
  uint64_t owner_ = 0;
  ConnectionList* list_ = nullptr;  // Null: it has a request.
};

// Connections without a request, the one that waits longest first.
class ConnectionList {
 public:
  static constexpr int kMostLooked = 1024;  // Bounds the time of a look.
  void Add(LoopConnection& connection, Instant now);
  void Remove(LoopConnection& connection);
  LoopConnection* oldest() const { return oldest_; }
  // The one of this owner that waits longest, among the kMostLooked that wait longest of all; null: there is none.
  LoopConnection* OldestOf(uint64_t owner) const;
  // Any thread: the time since which the oldest one waits; Never: there is none.
  Instant since() const { return Instant::FromNanoseconds(since_.load(std::memory_order_relaxed)); }

 private:
  void Publish();

  LoopConnection* oldest_ = nullptr;
  LoopConnection* newest_ = nullptr;
  std::atomic<int64_t> since_{Instant::Never().nanoseconds()};
};

class ConnectionSet {
 public:
  // `on_empty` runs each time that the last member leaves.
  explicit ConnectionSet(std::function<void()> on_empty);

  void Enter(LoopConnection& connection, uint64_t owner);
  void SetOwner(LoopConnection& connection, uint64_t owner) { connection.owner_ = owner; }
  void Leave(LoopConnection& connection);
  void EnterGuest() { ++guests_; }
  void LeaveGuest();
  bool empty() const { return guests_ == 0 && connections_.empty(); }

  // A connection waits for a request / for its first one / has one. `now` never goes back.
  void SetIdle(LoopConnection& connection, Instant now);
  void SetNew(LoopConnection& connection, Instant now);
  void SetBusy(LoopConnection& connection);

  // The waiting time from which a new connection may be closed.
  static constexpr Duration kLongestNew = Duration::Seconds(1);
  // Any thread: the time since which the oldest idle connection waits; Never: there is none.
  Instant oldest_idle() const { return idle_.since(); }
  // Any thread: the same of the new ones, if the oldest may be closed.
  Instant oldest_new(Instant now) const;
  // Closes the oldest idle connection, else the oldest new one that may be closed. False: there is none.
  bool CloseOldest(Instant now);
  // The same among the connections of one owner.
  bool CloseOldestOf(uint64_t owner, Instant now);

  // Members may leave during both calls.
  void CloseIdle();
  void CloseAll();

 private:
  void TellIfEmpty();
  void CloseWaiting(LoopConnection& connection);

  const std::function<void()> on_empty_;
  absl::flat_hash_set<LoopConnection*> connections_;
  ConnectionList idle_;
  ConnectionList new_;
  int guests_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_CONNECTION_SET_H_
