// Reads the exporters of nodes and tells the core what they mean for each replica.
//
// Each exporter has a coroutine on the control loop, a guest of it; no request waits for one. A reading has one
// deadline, and takes at most PageLines::kLargestPage bytes, line by line. At most kMostAtOnce readings are under way;
// exporters that did not answer last get half of them.
// A tick each half second evaluates the rules, takes a new configuration, and submits the reports that changed. Reports
// with an effect are repeated: the core may not have known the replica yet. Belongs to the control loop; its owner
// stops it before the loop ends.
#ifndef PENSTOCK_ROUTER_LIVE_NODES_NODE_KEEPER_H_
#define PENSTOCK_ROUTER_LIVE_NODES_NODE_KEEPER_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/string_view.h"
#include "backends/node/signals/exporter_watch.h"
#include "config/config.h"
#include "router/fleet/fleet_book.h"
#include "router/live/event_loop.h"
#include "router/telemetry/log/line_sampler.h"

namespace penstock {

class NodeKeeper {
 public:
  static constexpr int kMostAtOnce = 256;

  // `book` outlives this object.
  NodeKeeper(EventLoop& control, const FleetBook& book);

  void Start();
  void Stop();

 private:
  struct Reader;

  void Configure();
  std::shared_ptr<Reader> Begin(const std::string& node, const ExporterConfig& exporter);
  void Tick();
  void Report(bool repeat);
  NodeEffects EffectsOn(ReplicaId replica, Instant now) const;
  void LogResult(const Reader& reader, NodeScrape result) const;
  void Log(const Reader& reader, absl::string_view message, LogLevel level = LogLevel::kInfo) const;
  boost::asio::awaitable<void> Read(std::shared_ptr<Reader> reader);
  boost::asio::awaitable<NodeScrape> ReadPage(Reader& reader);

  EventLoop& control_;
  const FleetBook& book_;
  boost::asio::steady_timer timer_;
  std::vector<NodeConfig> nodes_;
  std::vector<std::shared_ptr<Reader>> readers_;
  absl::btree_map<ReplicaId, NodeEffects> told_;
  std::shared_ptr<int> under_way_ = std::make_shared<int>(0);
  int64_t ticks_ = 0;
  mutable LineSampler lines_;  // Exporters that flap must not fill the log.
  bool stopped_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_NODES_NODE_KEEPER_H_
