// The deadline of the current operation of one connection.
//
// Arm() stores a point in time. It enters the queue of its loop only when it waits there for none, or for a later one.
// A deadline whose turn comes too early enters it again. A stream that reads every few milliseconds under a timeout of
// a minute therefore costs one clock read per operation and one place per minute. A loop has one timer for all of them.
// Used on one loop only.
#ifndef PENSTOCK_BACKENDS_SOCKET_DEADLINE_H_
#define PENSTOCK_BACKENDS_SOCKET_DEADLINE_H_

#include <boost/asio/io_context.hpp>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "base/units.h"

namespace penstock {

class DeadlineQueue;

class Deadline {
 public:
  // `on_expiry` runs on `loop` when an armed point in time has passed. The last thing it does may destroy the deadline.
  Deadline(boost::asio::io_context& loop, absl::AnyInvocable<void()> on_expiry);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  // Replaces the point in time. An infinite timeout disarms.
  void Arm(Duration timeout);
  void Disarm();
  // True when the last armed point in time has passed before Disarm().
  bool expired() const;

 private:
  friend class DeadlineQueue;
  struct State;
  std::unique_ptr<State> state_;  // The queue refers to it until it ends.
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_SOCKET_DEADLINE_H_
