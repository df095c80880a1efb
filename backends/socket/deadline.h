// The deadline of the current operation of one connection.
//
// Arm() stores a point in time. The one timer starts only when none is pending or when the new point is earlier, and it
// starts again when it fires too early. A stream that reads every few milliseconds under a timeout of a minute
// therefore costs one clock read per operation and one timer per minute. Used on one loop only.
#ifndef PENSTOCK_BACKENDS_SOCKET_DEADLINE_H_
#define PENSTOCK_BACKENDS_SOCKET_DEADLINE_H_

#include <boost/asio/io_context.hpp>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "base/units.h"

namespace penstock {

class Deadline {
 public:
  // `on_expiry` runs on `loop` when an armed point in time has passed.
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
  struct State;
  std::shared_ptr<State> state_;  // A pending timer refers to it weakly.
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_SOCKET_DEADLINE_H_
