// The readiness of the sockets of one loop, without a system call or an allocation per wait.
//
// The project has one epoll set per loop. A socket enters it once, edge-triggered, for input, room and the end of its
// peer. The loop waits for the descriptor of the set through Asio, and hands out at most kBatch events per turn. Ends
// of peers wait behind all other events, and a turn hands out kEnds of them: thousands that come at once hold nobody
// up. Each socket keeps its mask. `input` stays set until a read took less than it asked for, `room` until a write was
// cut. The end of the peer stays set for ever, so an end that came together with bytes is found behind them. An event
// names the place of its socket and the use of that place. So an event of a closed socket reaches no later socket,
// whatever the descriptor number. All objects belong to the loop's thread.
#ifndef PENSTOCK_BACKENDS_SOCKET_READINESS_H_
#define PENSTOCK_BACKENDS_SOCKET_READINESS_H_

#include <sys/epoll.h>

#include <array>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/system/error_code.hpp>
#include <cstdint>
#include <deque>
#include <vector>

#include "backends/socket/late_push.h"
#include "backends/socket/loop_turns.h"

namespace penstock {

class ReadinessSet;

// One socket's place in the set of its loop. `input()` false: OnReady() announces the next byte or the end. `room()`
// false: OnReady() announces room.
class Readiness {
 public:
  using ErrorCode = boost::system::error_code;

  class Owner {
   public:
    // Events came. The owner may close or destroy any socket meanwhile, its own too.
    virtual void OnReady() = 0;
    // The loop was destroyed: no event will come.
    virtual void OnLoopEnd() = 0;

   protected:
    ~Owner() = default;
  };

  Readiness(boost::asio::io_context& loop, Owner& owner);
  ~Readiness();
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;

  void SetOwner(Owner& owner) { owner_ = &owner; }
  // Registers a socket. `connected`: input and room are worth a try before the first event. Errors: descriptors or
  // memory are exhausted. Once per object.
  ErrorCode Enter(int socket, bool connected);
  // The writes of this loop that leave with its turn.
  LatePush& pushes();
  // No more events reach the owner. The close of the descriptor then takes it out of the set.
  void Mute();

  bool input() const { return (mask_ & (EPOLLIN | kEnded)) != 0; }
  bool room() const { return (mask_ & (EPOLLOUT | kBroken)) != 0; }
  // The peer sends nothing more: it closed its side, or the connection is broken. Unread bytes may lie before the end.
  bool ended() const { return (mask_ & kEnded) != 0; }
  // The connection was reset, or both sides are closed.
  bool broken() const { return (mask_ & kBroken) != 0; }
  // A read found fewer bytes than it asked for.
  void InputTaken() { mask_ &= ~uint32_t{EPOLLIN}; }
  // A write was cut.
  void RoomTaken() { mask_ &= ~uint32_t{EPOLLOUT}; }

 private:
  friend class ReadinessSet;
  static constexpr uint32_t kBroken = EPOLLERR | EPOLLHUP;
  static constexpr uint32_t kEnded = kBroken | EPOLLRDHUP;
  static constexpr uint32_t kNoPlace = UINT32_MAX;

  ReadinessSet& set_;
  Owner* owner_;
  uint32_t mask_ = 0;
  uint32_t place_ = kNoPlace;
};

// The set of a loop, a service of its io_context. It opens its descriptor with its first socket, and waits while it has
// sockets. Cost: three system calls per turn with events (Asio's wait, the wait for the set, its renewal).
class ReadinessSet final : public boost::asio::execution_context::service {
 public:
  using key_type = ReadinessSet;  // NOLINT(readability-identifier-naming): Asio wants this name.
  using ErrorCode = boost::system::error_code;
  static constexpr int kBatch = 32;  // Events per turn of the loop.
  static constexpr int kEnds = 8;    // And ends of peers: the end of a request costs tens of microseconds.

  explicit ReadinessSet(boost::asio::io_context& loop);
  // The set of a loop. Made by the first call.
  static ReadinessSet& Of(boost::asio::io_context& loop);

  size_t sockets() const { return used_; }
  LatePush& pushes() { return pushes_; }

  static boost::asio::execution_context::id id;  // NOLINT(readability-identifier-naming)

 private:
  friend class Readiness;
  // `use` changes when the socket leaves or is muted. An event with another use is stale.
  struct Place {
    Readiness* socket = nullptr;
    uint32_t use = 0;
  };
  using Descriptor =
      boost::asio::posix::stream_descriptor::rebind_executor<boost::asio::io_context::executor_type>::other;

  ErrorCode Enter(int socket, Readiness& readiness);
  void Mute(const Readiness& readiness) { ++places_[readiness.place_].use; }
  void Leave(const Readiness& readiness);
  ErrorCode Open();
  void Arm();
  // Takes events from the kernel. The ends among them wait in ended_.
  void HandOut();
  void HandOutEnds();
  void Tell(const epoll_event& event);
  void shutdown() noexcept override;

  LoopTurns& turns_;
  LatePush pushes_;
  Descriptor set_;
  std::vector<Place> places_;
  std::vector<uint32_t> free_;
  size_t used_ = 0;
  bool armed_ = false;
  std::array<epoll_event, kBatch> batch_;
  std::deque<epoll_event> ended_;
};

inline LatePush& Readiness::pushes() { return set_.pushes(); }

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_SOCKET_READINESS_H_
