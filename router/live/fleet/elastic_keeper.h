// Follows the kvcached segments of the engines: tells the core their limits and use, and writes the limits that it
// orders.
//
// One timer of the control loop looks at every segment each poll.interval. No look waits for a lock or for an engine. A
// segment that cannot be read is counted each time, and logged once. The core keeps the last values. An order that
// cannot be written yet is tried again at each look, for as long as the core waits for its limit. Belongs to the
// control loop; its owner stops it before it ends.
#ifndef PENSTOCK_ROUTER_LIVE_FLEET_ELASTIC_KEEPER_H_
#define PENSTOCK_ROUTER_LIVE_FLEET_ELASTIC_KEEPER_H_

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <string>

#include "absl/container/btree_map.h"
#include "backends/node/kvcached/segment.h"
#include "router/fleet/fleet_book.h"
#include "router/live/event_loop.h"

namespace penstock {

class ElasticKeeper {
 public:
  // `book` outlives this object.
  ElasticKeeper(EventLoop& control, const FleetBook& book);

  void Start();
  void Stop();
  // An order of the core.
  void OnOrder(const SetShare& order);

 private:
  struct Segment {
    std::string path;
    std::optional<SegmentFault> last;  // The end of the last look; empty: there was none.
    std::optional<Bytes> order;        // Not written yet.
    Instant ordered_at;
    std::optional<Bytes> written;  // Not seen at a look yet.
  };

  // The memory of the replica's GPUs together; kMostSegmentMemory where that of one is unknown.
  Bytes MemoryOf(ReplicaId replica) const;
  void Look();
  void LookAt(ReplicaId replica, Segment& segment);
  void Write(ReplicaId replica, Segment& segment);
  void Log(ReplicaId replica, std::string message, LogLevel level = LogLevel::kInfo) const;

  EventLoop& control_;
  const FleetBook& book_;
  boost::asio::steady_timer timer_;
  absl::btree_map<ReplicaId, Segment> segments_;
  bool stopped_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_FLEET_ELASTIC_KEEPER_H_
