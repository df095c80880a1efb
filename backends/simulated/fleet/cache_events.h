// Publishes the prefix cache of a simulated engine as vLLM does: one batch of events per step.
//
// Replays are served every 50 ms and with each batch. Belongs to the thread of the io_context, as the engine does.
#ifndef PENSTOCK_BACKENDS_SIMULATED_FLEET_CACHE_EVENTS_H_
#define PENSTOCK_BACKENDS_SIMULATED_FLEET_CACHE_EVENTS_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>

#include "absl/status/status.h"
#include "backends/kv_events/event_batch.h"
#include "backends/kv_events/socket/event_publisher.h"
#include "backends/simulated/engine/engine.h"
#include "config/config.h"

namespace penstock::simulated {

// Blocks that follow each other, stored for one session, are one event.
KvBatch BatchOf(const CacheJournal& changes, Tokens block, int rank);

class CacheEvents {
 public:
  // Binds the addresses of the rank; the engine publishes from then on.
  static absl::StatusOr<std::unique_ptr<CacheEvents>> Begin(boost::asio::io_context& context, const Engine& engine,
                                                            const ReplicaKvEventsConfig& config, int rank);

 private:
  CacheEvents(boost::asio::io_context& context, std::unique_ptr<EventPublisher> publisher)
      : timer_(context), publisher_(std::move(publisher)) {}
  void Tick();

  boost::asio::steady_timer timer_;
  std::unique_ptr<EventPublisher> publisher_;
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_FLEET_CACHE_EVENTS_H_
