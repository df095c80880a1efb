// The client connections of one loop, and the other coroutines that must end before the loop can stop.
//
// A connection is a member from Enter to Leave; a guest is any other coroutine. Used on the loop's own thread. Enter
// and Leave cost one hash operation.
#ifndef PENSTOCK_ROUTER_LIVE_CONNECTION_SET_H_
#define PENSTOCK_ROUTER_LIVE_CONNECTION_SET_H_

#include <functional>

#include "absl/container/flat_hash_set.h"

namespace penstock {

// A client's connection as its loop knows it. The loop calls it on its own thread.
class LoopConnection {
 public:
  // Ends it at once, or only if no request is being read or answered.
  virtual void Close() = 0;
  virtual void CloseIfIdle() = 0;

 protected:
  ~LoopConnection() = default;
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

  // Members may leave during both calls.
  void CloseIdle();
  void CloseAll();

 private:
  void TellIfEmpty();

  const std::function<void()> on_empty_;
  absl::flat_hash_set<LoopConnection*> connections_;
  int guests_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_CONNECTION_SET_H_
