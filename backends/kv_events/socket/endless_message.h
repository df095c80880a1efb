// Finds a message without an end on one connection of ZeroMQ.
//
// The library bounds the bytes of a part and the number of whole messages. Nothing there bounds the parts of a message,
// and it stores them until the last one. So the bytes that the connection received since the last whole message are
// bounded here; the system counts them. Belongs to one thread. A look costs one system call.
#ifndef PENSTOCK_BACKENDS_KV_EVENTS_SOCKET_ENDLESS_MESSAGE_H_
#define PENSTOCK_BACKENDS_KV_EVENTS_SOCKET_ENDLESS_MESSAGE_H_

#include <cstdint>

#include "backends/kv_events/event_batch.h"

namespace penstock {

class EndlessMessage {
 public:
  // The system stores so many bytes of the messages behind it.
  static constexpr int kSystemBuffer = 1 << 20;
  static constexpr uint64_t kMost = kMostBatchBytes + 2 * uint64_t{kSystemBuffer};

  // The descriptor of a new connection.
  void Begin(int descriptor);
  void End() { descriptor_ = -1; }
  // A whole message was read.
  void OnMessage() { read_ = true; }
  // True: the connection received too much since the last whole message. Looked at when no message is there to read.
  bool Found();

 private:
  int descriptor_ = -1;
  uint64_t before_ = 0;  // The bytes at the last look behind a whole message.
  bool read_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_KV_EVENTS_SOCKET_ENDLESS_MESSAGE_H_
