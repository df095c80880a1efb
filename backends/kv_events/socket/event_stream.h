// The ZeroMQ sockets of one engine's events: the subscription, and the requests for batches that were missed.
//
// The library reads on a thread of its own and stores kMostQueued messages at most; a publisher then drops, and its
// numbers show that. A message that is too long ends its connection (event_line.h). No call waits. Belongs to one
// thread.
#ifndef PENSTOCK_BACKENDS_KV_EVENTS_SOCKET_EVENT_STREAM_H_
#define PENSTOCK_BACKENDS_KV_EVENTS_SOCKET_EVENT_STREAM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <zmq.hpp>

#include "absl/status/statusor.h"
#include "backends/kv_events/socket/event_line.h"
#include "backends/kv_events/socket/event_target.h"
#include "base/units.h"

namespace penstock {

// A message of the stream, or of a replay.
struct EventMessage {
  uint64_t number = 0;
  bool last = false;   // The end of a replay: it has no batch.
  bool whole = false;  // False: the frames are none of a batch.
  std::string batch;
};

class EventStream {
 public:
  static constexpr int kMostQueued = 64;
  static constexpr int kMostReplayed = 512;

  using Change = EventLine::Change;

  // tcp://HOST:PORT each. `replay` may be empty. Connects in the background. InvalidArgument: an
  // address that the library does not take, or short descriptors.
  static absl::StatusOr<EventStream> Open(zmq::context_t& context, const std::string& events,
                                          const std::string& replay);
  // The newest change of the connection since the last call.
  Change TakeChange();
  // Connects again, with pauses that double up to 5 s, while there is no connection. Several times a second.
  void KeepConnected(Instant now);
  std::optional<EventMessage> Read() { return ReadFrom(*events_); }
  std::optional<EventMessage> ReadReplay() { return replay_ ? ReadFrom(*replay_) : std::nullopt; }
  // True: a message of the replay had no end. What was asked for is lost; ForgetReplay() connects again.
  bool ReplayWasEndless();
  bool can_replay() const { return replays_; }
  // Asks for the batches from this number on. False: the request cannot be sent now.
  bool AskFrom(uint64_t number);
  // Forgets a replay under way: what comes of it later is not read.
  void ForgetReplay();

  // For zmq::poll.
  void AddTo(std::vector<zmq::pollitem_t>& items);

 private:
  EventStream(zmq::context_t& context, const std::string& events, const std::string& replay)
      : context_(&context), events_at_(events), replay_at_(replay), replays_(!replay.empty()) {}
  static std::optional<EventMessage> ReadFrom(EventLine& line);
  void OpenReplay();
  void Connect();

  zmq::context_t* context_;
  EventTarget events_at_;
  EventTarget replay_at_;
  bool replays_;                     // It serves replays. Their line is missing while descriptors are short.
  size_t turn_ = 0;                  // Of the addresses of both, anew with each connection that fails.
  std::optional<EventLine> events_;  // Always set but in Open().
  std::optional<EventLine> replay_;
  bool connected_ = false;
  Duration pause_ = Duration::Milliseconds(250);
  std::optional<Instant> retry_at_;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_KV_EVENTS_SOCKET_EVENT_STREAM_H_
