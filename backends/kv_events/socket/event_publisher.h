// The publisher of a simulated engine's events: a stream of numbered batches, and replays of the last ones.
//
// As vLLM does, it serves replays between two batches; an idle engine serves them at its next tick. Belongs to one
// thread. A call never waits; subscribers that are too slow miss batches.
#ifndef PENSTOCK_BACKENDS_KV_EVENTS_SOCKET_EVENT_PUBLISHER_H_
#define PENSTOCK_BACKENDS_KV_EVENTS_SOCKET_EVENT_PUBLISHER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <zmq.hpp>

#include "absl/status/statusor.h"
#include "backends/kv_events/event_batch.h"

namespace penstock {

class EventPublisher {
 public:
  static constexpr size_t kMostKept = 10'000;

  // Binds tcp://HOST:PORT. `replay` may be empty: no replays.
  static absl::StatusOr<std::unique_ptr<EventPublisher>> Bind(const std::string& events, const std::string& replay);

  void Publish(const KvBatch& batch);
  // Answers the requests for replays that came.
  void ServeReplays();
  // Begins anew at number 0, as a new process does.
  void Restart() {
    next_ = 0;
    kept_.clear();
  }

 private:
  EventPublisher() = default;

  zmq::context_t context_{1};
  zmq::socket_t events_;
  std::optional<zmq::socket_t> replay_;
  uint64_t next_ = 0;
  std::deque<std::pair<uint64_t, std::string>> kept_;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_KV_EVENTS_SOCKET_EVENT_PUBLISHER_H_
