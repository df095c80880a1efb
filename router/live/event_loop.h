// One thread of the edge: its io_context, its deadlines, its connections to engines, and the requests it serves.
//
// Connections are pinned: one acceptor (on the first loop) hands sockets to the loops round robin. That spreads a few
// long-lived connections evenly, where SO_REUSEPORT's hash would not. Everything here belongs to the loop's own thread,
// except members marked otherwise.
#ifndef PENSTOCK_ROUTER_LIVE_EVENT_LOOP_H_
#define PENSTOCK_ROUTER_LIVE_EVENT_LOOP_H_

#include <array>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "backends/transport/upstream.h"
#include "base/byte_budget.h"
#include "base/fair_budget.h"
#include "base/turn_meter.h"
#include "router/jobs/store/job_values.h"
#include "router/live/connection_set.h"
#include "router/live/core_host.h"
#include "router/live/deadlines.h"
#include "router/live/delivered_tokens.h"
#include "router/live/fleet_view.h"
#include "router/live/gpu_watch.h"
#include "router/live/key_counts.h"
#include "router/live/live_request.h"
#include "router/live/mailbox.h"
#include "router/live/merge/embedding_merger.h"
#include "router/live/progress_board.h"
#include "router/live/tokens_per_event.h"
#include "router/telemetry/log/decision_log.h"
#include "router/telemetry/log/line_sampler.h"
#include "router/telemetry/telemetry.h"

namespace penstock {

class MetricsDesk;
class ModelDesk;
class PageFeed;
class Ticket;
class TraceSink;
namespace jobs {
class JobThread;
}

// A relay's finding about an engine.
enum class EngineNews { kAnswer, kConnectFailed, kBrokenAnswer, kModelDenied, kModelAsleep };

// The reason for which an engine does nothing for its requests.
enum class EngineLoss { kHung, kAsleep };

// The objects that all loops share. Thread-safe parts only.
struct Edge {
  CoreHost* core = nullptr;
  ProgressBoard* board = nullptr;
  GpuWatch* gpus = nullptr;  // Null: nobody counts the GPUs' time.
  Telemetry* telemetry = nullptr;
  DecisionLog* log = nullptr;
  TraceSink* traces = nullptr;      // Null: no request is traced.
  PageFeed* page = nullptr;         // Null: the router has no page.
  MetricsDesk* metrics = nullptr;   // Required to answer /metrics.
  ModelDesk* models = nullptr;      // Required to answer /v1/models and Ollama's lists.
  jobs::JobThread* jobs = nullptr;  // Null: the router has no job store.
  // A batch was made, or is to be cancelled. Any thread. Null: as above.
  std::function<void(jobs::BatchKey)> on_batch;
  std::function<void(ReplicaId, EngineNews)> report;
  std::vector<const TurnMeter*> turns;  // Of the loops, in the order of their construction.
  std::string pseudonym;                // In Via to engines, so that a request that comes back is known; empty: none.
  bool admin_apart = false;             // Metrics and health are on the admin listener.
  ByteBudget delivered_text;            // For answers that may have to be continued.
  FairBudget bodies;                    // For the bytes of requests, from their reading to their end.
  FairBudget answers;                   // For the bytes of answers that their clients have not taken.
  FairBudget store_reads;               // For downloads and lists of the job store.
  KeyCounts keys;                       // For limits.max_requests_per_key.
  SharedPlaces realtime;                // For requests that ask for a WebSocket, or have one.
  LineSampler denied_lines;             // For lines about missing keys.
  LineSampler proxy_lines;              // For lines about bad PROXY headers.
  LineSampler store_lines;              // For lines about faults of the job store.
  LineSampler handover_lines;           // For lines about prompts that no prefill replica handed over.
  LineSampler unknown_lines;            // For lines about unknown models.
  LineSampler rejected_lines;           // For lines about requests that an engine found bad.
  std::atomic<int> connections{0};
  std::atomic<int> requests{0};  // Being answered.
  std::atomic<int> cut{0};       // Requests that got an error because the router ends.
  std::atomic<int> replicas_up{0};
  std::atomic<bool> draining{false};
};

class EventLoop {
 public:
  EventLoop(size_t index, Edge& edge);
  ~EventLoop();

  // Any thread, once: runs the loop in a thread of its own / closes all connections, waits for what runs to end, joins.
  void Start();
  void Stop();

  boost::asio::io_context& io() { return io_; }
  size_t index() const { return index_; }
  Edge& edge() const { return edge_; }
  DeadlineList& deadlines() { return deadlines_; }
  Mailbox& mailbox() { return mailbox_; }
  // Any thread: replaces the view, on the loop; then calls `done` there.
  void PostFleet(std::shared_ptr<const FleetView> view, std::function<void()> done);
  const std::shared_ptr<const FleetView>& fleet() const { return fleet_; }
  // Any thread: tells every request, on the loop, that the engine of the replica does nothing.
  void PostLost(ReplicaId replica, EngineLoss loss);

  // Scratch for reads of clients: contents are consumed before anything else runs.
  std::array<char, 64 << 10>& scratch() { return scratch_; }

  RequestId NextRequestId() { return MakeRequestId(++counts_.requests, index_); }
  void Register(RequestId id, Ticket& ticket) { tickets_[id] = &ticket; }
  void Forget(RequestId id) { tickets_.erase(id); }
  // Any thread: describes the requests that wait and those that run, on the loop; then calls `done` there. The oldest
  // `most` of each; of more than kCensusLook requests, the oldest of that many.
  void PostCensus(size_t most, std::function<void(LoopCensus)> done);
  static constexpr size_t kCensusLook = 4096;

  DeliveredTokens& delivered() { return counts_.delivered; }
  // Requests at engines that the core does not hear of.
  FairBudget& free_requests() { return counts_.free_requests; }

  // Null when the replica has no usable address. A reload may put another pool in its place: who waits keeps a share.
  std::shared_ptr<UpstreamPool> PoolOf(ReplicaId replica);
  // For the embedding requests of this loop. The replica has a pool.
  EmbeddingMerger& EmbeddingsOf(ReplicaId replica) { return *pools_[replica].embeddings; }
  // Learned from the answers of this loop.
  TokensPerEvent& TokensPerEventOf(ReplicaId replica) { return pools_[replica].tokens_per_event; }

  // The loop does not end before all of these left.
  ConnectionSet& connections() { return connections_; }
  // Ends every request with an error for its client, as far as its connection takes it.
  void CutRequests();

 private:
  struct Pool {
    UpstreamAddress address;
    TlsContext::Pointer tls;
    Duration connect_timeout;
    std::shared_ptr<UpstreamPool> pool;
    std::unique_ptr<EmbeddingMerger> embeddings;
    TokensPerEvent tokens_per_event;
  };
  // Since start.
  struct Counts {
    DeliveredTokens delivered;
    uint64_t requests = 0;
    FairBudget free_requests;
  };
  void Deliver(const RequestAction& action);
  void FinishIfEmpty();

  const size_t index_;
  Edge& edge_;
  // One thread runs it and touches its sockets; others only post to it.
  boost::asio::io_context io_{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE_IO};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  DeadlineList deadlines_;
  Mailbox mailbox_;
  std::shared_ptr<const FleetView> fleet_;
  absl::flat_hash_map<RequestId, Ticket*> tickets_;
  absl::flat_hash_map<ReplicaId, Pool> pools_;
  ConnectionSet connections_;
  Counts counts_;
  bool stopping_ = false;
  std::array<char, 64 << 10> scratch_;
  std::thread thread_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_EVENT_LOOP_H_
