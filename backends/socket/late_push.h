// The sockets of one loop whose written bytes leave at the end of a turn.
//
// While more events of a turn are to come, such a write hands its bytes to the kernel with MSG_MORE and notes the
// socket here. The end of the turn pushes all of them. So the packets of a turn leave one behind another. A peer on
// this machine wakes once for several, and the kernel's code stays in the cache. The kernel has the bytes from the
// write on, and the write returns its errors. Belongs to the loop's thread. Cost: one system call per noted write.
#ifndef PENSTOCK_BACKENDS_SOCKET_LATE_PUSH_H_
#define PENSTOCK_BACKENDS_SOCKET_LATE_PUSH_H_

#include <cstddef>
#include <vector>

namespace penstock {

// When written bytes leave: a relayed event costs less than its push, so it goes at once.
enum class Push { kNow, kWithTurn };

class LatePush {
 public:
  // Larger writes leave at once: they fill packets.
  static constexpr size_t kMostBytes = 16 << 10;

  // True: more events of the turn are to come.
  void SetOpen(bool open) { open_ = open; }
  // True: a write of this size to a TCP socket may wait for PushAll().
  bool Takes(size_t bytes) const { return open_ && bytes <= kMostBytes; }
  void Note(int socket) { sockets_.push_back(socket); }
  // Before the descriptor is closed: an end with unread input would discard what was not sent.
  void PushNow(int socket);
  void PushAll();

 private:
  bool open_ = false;
  std::vector<int> sockets_;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_SOCKET_LATE_PUSH_H_
