#include "router/live/event_loop.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/socket/loop_turns.h"
#include "router/live/ticket.h"

namespace penstock {
namespace {

// Ids of one loop grow, so the least are the oldest.
std::vector<LiveRequest> DescribeOldest(std::vector<const Ticket*>& tickets, size_t most) {
  const auto end = tickets.begin() + static_cast<std::ptrdiff_t>(std::min(most, tickets.size()));
  std::partial_sort(tickets.begin(), end, tickets.end(),
                    [](const Ticket* a, const Ticket* b) { return a->id() < b->id(); });
  std::vector<LiveRequest> live;
  for (auto ticket = tickets.begin(); ticket != end; ++ticket) live.push_back((*ticket)->Describe());
  return live;
}

void NoteBadMerge(const Edge& edge, const std::string& replica, const absl::Status& fault, Duration pause) {
  if (edge.log == nullptr) return;
  DecisionEntry entry;
  entry.level = LogLevel::kWarning;
  entry.replica = replica;
  entry.message = absl::StrCat("answer to merged embedding requests is bad (", fault.message(),
                               "): they were sent alone, as are all for ", pause.seconds(), " s");
  edge.log->Write(std::move(entry));
}

}  // namespace

EventLoop::EventLoop(size_t index, Edge& edge)
    : index_(index),
      edge_(edge),
      work_(boost::asio::make_work_guard(io_)),
      deadlines_(io_),
      mailbox_(io_, [this](const RequestAction& action) { Deliver(action); }),
      connections_([this] { FinishIfEmpty(); }) {
  edge_.turns.push_back(&LoopTurns::Of(io_).meter());
}

EventLoop::~EventLoop() { Stop(); }

void EventLoop::Start() {
  thread_ = std::thread([this] {
    mailbox_.OwnThisThread();
    deadlines_.Start();
    io_.run();
  });
}

void EventLoop::Stop() {
  if (!thread_.joinable()) return;
  boost::asio::post(io_, [this] {
    stopping_ = true;
    connections_.CloseAll();
    FinishIfEmpty();
  });
  thread_.join();
}

// Posted, as the last coroutine's frame is still being destroyed.
void EventLoop::FinishIfEmpty() {
  if (!stopping_ || !connections_.empty()) return;
  boost::asio::post(io_, [this] {
    deadlines_.Stop();
    pools_.clear();
    io_.stop();
  });
}

void EventLoop::PostFleet(std::shared_ptr<const FleetView> view, std::function<void()> done) {
  boost::asio::post(io_, [this, view = std::move(view), done = std::move(done)]() mutable {
    fleet_ = std::move(view);
    done();
  });
}

void EventLoop::PostLost(ReplicaId replica, EngineLoss loss) {
  boost::asio::post(io_, [this, replica, loss] {
    for (const auto& [id, ticket] : tickets_) ticket->ReplicaLost(replica, loss);
  });
}

void EventLoop::PostCensus(size_t most, std::function<void(LoopCensus)> done) {
  boost::asio::post(io_, [this, most, done = std::move(done)] {
    std::vector<const Ticket*> waiting;
    std::vector<const Ticket*> running;
    size_t seen = 0;
    for (const auto& [id, ticket] : tickets_) {
      if (++seen > kCensusLook) break;
      if (ticket->open()) (ticket->waiting() ? waiting : running).push_back(ticket);
    }
    done(LoopCensus{DescribeOldest(waiting, most), DescribeOldest(running, most)});
  });
}

void EventLoop::Deliver(const RequestAction& action) {
  const auto found = tickets_.find(RequestOf(action));
  if (found != tickets_.end()) found->second->Deliver(action);
}

std::shared_ptr<UpstreamPool> EventLoop::PoolOf(ReplicaId replica) {
  if (fleet_ == nullptr || replica.value() >= fleet_->engines.size()) return nullptr;
  const EngineAccess& access = fleet_->engines[replica.value()];
  if (!access.address) return nullptr;
  Pool& pool = pools_[replica];
  if (pool.embeddings == nullptr) {
    EmbeddingMerger::Hooks hooks;
    hooks.on_end = [this](MergeEnd end, size_t requests) { edge_.telemetry->OnMerged(end, requests); };
    hooks.on_bad_answer = [this, name = access.name](const absl::Status& fault, Duration pause) {
      NoteBadMerge(edge_, name, fault, pause);
    };
    pool.embeddings = std::make_unique<EmbeddingMerger>(io_, std::move(hooks));
  }
  const Duration connect_timeout = fleet_->config().limits.connect_timeout;
  const bool same = pool.pool != nullptr && pool.address == *access.address && pool.tls == access.tls &&
                    pool.connect_timeout == connect_timeout;
  if (!same) {
    UpstreamPool::Options options;
    options.connect_timeout = connect_timeout;
    options.tls = access.tls;
    options.server_name = access.server_name;
    if (access.capabilities) options.idle_limit = access.capabilities->idle_limit;
    if (pool.pool != nullptr && pool.address != *access.address) pool.tokens_per_event = TokensPerEvent();
    pool.address = *access.address;
    pool.tls = access.tls;
    pool.connect_timeout = connect_timeout;
    pool.pool = std::make_shared<UpstreamPool>(io_, *access.address, std::move(options));
  }
  return pool.pool;
}

void EventLoop::CutRequests() {
  for (const auto& [id, ticket] : tickets_) ticket->Cut();
}

}  // namespace penstock
