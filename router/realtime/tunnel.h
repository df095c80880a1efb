// Passes the bytes of two sockets to each other until one of them ends.
//
// A byte is read only when the one before has been written, so a side that takes nothing stops the other. Each
// direction holds one reading of at most 64 KiB, and none while it flows. An end of one side closes the sending half of
// the other, which has a second to end too. Both sockets are closed in the end. Costs one system call per reading and
// per writing, and no copy but of bytes that wait. Belongs to one loop; one coroutine awaits Run().
#ifndef PENSTOCK_ROUTER_REALTIME_TUNNEL_H_
#define PENSTOCK_ROUTER_REALTIME_TUNNEL_H_

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <string>

#include "backends/socket/stream_socket.h"
#include "base/units.h"
#include "router/labels/labels.h"
#include "router/live/deadlines.h"
#include "router/live/event_loop.h"
#include "router/live/loop_turn.h"
#include "router/live/signal.h"

namespace penstock {

class Tunnel final : private StreamSocket::Owner {
 public:
  struct Limits {
    Duration idle;  // Without a byte in either direction.
    Duration time;
  };
  struct Side {
    StreamSocket* socket;
    std::string unread;  // Bytes of it that were read before.
  };
  // Called with the bytes that were written: to the engine, to the client.
  using Passed = std::function<void(uint64_t, uint64_t)>;

  // Both sockets are this object's from now on; their connections outlive it.
  Tunnel(EventLoop& loop, Side client, Side engine, Limits limits, Passed passed);
  Tunnel(const Tunnel&) = delete;
  Tunnel& operator=(const Tunnel&) = delete;

  boost::asio::awaitable<RealtimeEnd> Run();
  // Run() ends soon.
  void Stop();

 private:
  enum class Moved : uint8_t { kNothing, kBytes, kFailed };
  struct Direction {
    StreamSocket& from;
    StreamSocket& to;
    std::string rest;    // Read and not written.
    bool ended = false;  // `from` sends nothing more.
    bool shut = false;   // `to` knows that.
    uint64_t written = 0;
  };

  void OnReady() override { wake_.Notify(); }
  void OnLoopEnd() override {}
  Moved Step(Direction& way);
  bool Write(Direction& way);
  // Nothing is left to pass, whatever comes.
  bool Over() const { return up_.shut && down_.shut; }
  std::optional<RealtimeEnd> LimitReached(Instant now) const;
  void Note(RealtimeEnd end);
  void ArmDeadline(Instant now);

  EventLoop& loop_;
  Direction up_;
  Direction down_;
  const Limits limits_;
  const Passed passed_;
  const Instant began_;
  Instant last_byte_;
  Instant linger_until_ = Instant::Never();
  std::optional<RealtimeEnd> end_;  // The first cause.
  bool stopped_ = false;
  Signal wake_;
  CoarseDeadline deadline_;
  LoopTurn turn_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_REALTIME_TUNNEL_H_
