// One socket of ZeroMQ with the reports about its connection, and the bounds of what a publisher may send.
//
// The library reads on a thread of its own. A part over kMostBatchBytes ends the connection there; a message of too
// many bytes in all ends it here. Belongs to one thread. No call waits.
#ifndef PENSTOCK_BACKENDS_KV_EVENTS_SOCKET_EVENT_LINE_H_
#define PENSTOCK_BACKENDS_KV_EVENTS_SOCKET_EVENT_LINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <zmq.hpp>

#include "backends/kv_events/socket/endless_message.h"

namespace penstock {

class EventLine {
 public:
  enum class Change : uint8_t {
    kNone,
    kConnected,
    kDisconnected,
    kEndless,  // A message had no end. Its bytes are free, and the connection is closed.
  };

  // `most_queued`: whole messages that the library stores. Throws as the library does: descriptors are short.
  EventLine(zmq::context_t& context, zmq::socket_type type, int most_queued);
  // Stops the reports first: the library's thread would wait for their reader for ever.
  ~EventLine();
  EventLine(EventLine&& other) noexcept;
  EventLine& operator=(EventLine&& other) noexcept;

  zmq::socket_t& socket() { return socket_; }
  // Connects in the background.
  void Connect(const std::string& address);
  // The newest change since the last call.
  Change TakeChange();
  // The frames of the next whole message.
  std::optional<std::vector<zmq::message_t>> Read();

  // For zmq::poll.
  void AddTo(std::vector<zmq::pollitem_t>& items);

 private:
  void StopReports();

  zmq::context_t* context_;
  zmq::socket_type type_;
  int most_queued_;
  zmq::socket_t socket_;
  zmq::socket_t changes_;  // The library reports the connection there.
  EndlessMessage endless_;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_KV_EVENTS_SOCKET_EVENT_LINE_H_
