// Reads the models and limits of running engines again, beside their polls.
//
// A reading has a coroutine of its own, a guest of the control loop, so polls never wait for it. One reading of a
// replica is under way at a time; RereadTimes says when. Facts that differ go into the FleetBook. A reading that fails,
// or that finds no models, changes nothing. A model leaves when two readings do not find it, or one behind a denial by
// the engine. Belongs to the control loop.
#ifndef PENSTOCK_ROUTER_LIVE_FLEET_REREADER_H_
#define PENSTOCK_ROUTER_LIVE_FLEET_REREADER_H_

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "backends/engines/contract/discovery.h"
#include "backends/engines/contract/engine_declaration.h"
#include "router/fleet/fleet_book.h"
#include "router/live/event_loop.h"
#include "router/live/fleet/watched_replica.h"

namespace penstock {

// The configured engine, else the one that its pages tell.
boost::asio::awaitable<absl::StatusOr<const EngineDeclaration*>> RecogniseEngine(const ReplicaConfig& config,
                                                                                 UpstreamPool& pool);

class Rereader {
 public:
  // `changed`: the book has a new fleet. `notice` is for the log.
  using Tell = std::function<void(const WatchedReplica&, bool changed, std::string notice)>;

  Rereader(EventLoop& control, FleetBook& book, Tell tell) : control_(control), book_(book), tell_(std::move(tell)) {}

  // Begins a reading where one is due.
  void MayBegin(const std::shared_ptr<WatchedReplica>& watched);
  // The engine denies a model that it listed.
  void OnModelDenied(const std::shared_ptr<WatchedReplica>& watched);

 private:
  boost::asio::awaitable<void> Read(std::shared_ptr<WatchedReplica> watched, bool recognise, bool denied);
  // `denied`: the engine denied a model before the reading.
  void Take(WatchedReplica& watched, absl::StatusOr<Discovery> found, bool denied);
  // The reading found what is known. It ends a doubt.
  void TakeSame(WatchedReplica& watched);

  EventLoop& control_;
  FleetBook& book_;
  const Tell tell_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_FLEET_REREADER_H_
