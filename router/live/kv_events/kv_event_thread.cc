#include "router/live/kv_events/kv_event_thread.h"

#include <algorithm>
#include <system_error>
#include <utility>
#include <zmq.hpp>

#include "absl/strings/str_cat.h"
#include "backends/kv_events/socket/event_stream.h"
#include "base/clock.h"
#include "router/kv_events/cache_follower.h"
#include "router/telemetry/engine_metrics.h"

namespace penstock {
namespace {

constexpr Duration kTurn = Duration::Milliseconds(20);
constexpr Duration kLongestRest = Duration::Seconds(1);
constexpr Duration kCountEvery = Duration::Milliseconds(500);
// An address that has not connected by then is worth a warning.
constexpr Duration kPatience = Duration::Seconds(5);
// An engine has three to six. ZeroMQ's default ends at 341 engines.
constexpr int kMostSockets = 32'768;
constexpr int kReplayedPerTurn = 4 * KvEventThread::kPerTurn;

std::optional<KvBatch> BatchOf(const EventMessage& message) {
  auto batch = message.whole ? DecodeKvBatch(message.batch) : absl::InvalidArgumentError("it is no message");
  if (!batch.ok()) return std::nullopt;
  return *std::move(batch);
}

}  // namespace

struct KvEventThread::Sockets {
  std::optional<zmq::context_t> context;  // Takes a descriptor, so it may come late.
};

struct KvEventThread::Followed {
  KvEventSource source;
  EventStream stream;
  CacheFollower follower;
  FollowerCounts counted;
  FollowerCounts told;                   // As of the last line of the log.
  std::optional<Instant> unheard_since;  // Empty: it connected once, or the log has the warning.
};

KvEventThread::KvEventThread(Edge& edge, RunTap& tap) : edge_(edge), tap_(tap) {}

KvEventThread::~KvEventThread() { Stop(); }

void KvEventThread::Stop() {
  stop_.store(true, std::memory_order_relaxed);
  tap_.Open(false);
  if (thread_.joinable()) thread_.join();
}

void KvEventThread::SetSources(std::vector<KvEventSource> sources) {
  std::lock_guard lock(mutex_);
  const bool any = !sources.empty();
  wanted_ = std::move(sources);
  if (any && !thread_.joinable() && !stop_.load(std::memory_order_relaxed)) StartThread();
}

void KvEventThread::StartThread() {
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error& error) {
    if (edge_.log == nullptr) return;
    edge_.log->Note(absl::StrCat("kv_events: no thread can start: ", error.code().message()), LogLevel::kWarning);
  }
}

void KvEventThread::Run() {
  Sockets sockets;
  while (!stop_.load(std::memory_order_relaxed)) {
    try {
      TakeTurn(sockets);
    } catch (const zmq::error_t& error) {
      // Descriptors or memory are short: a later turn may find some.
      const auto suppressed = edge_.log == nullptr ? std::nullopt : lines_.Take(Now());
      if (suppressed) edge_.log->Note(absl::StrCat("kv_events: ", error.what()), LogLevel::kWarning);
      std::this_thread::sleep_for(ToChrono(kTurn));
    }
  }
  followed_.clear();
}

void KvEventThread::TakeTurn(Sockets& sockets) {
  if (!sockets.context) {
    sockets.context.emplace(1);
    sockets.context->set(zmq::ctxopt::max_sockets, kMostSockets);
  }
  TakeSources(sockets);
  const Instant began = Now();
  TakeRuns(began);
  bool more = false;
  for (const auto& followed : followed_) {
    // A turn is an engine's: none takes that of another.
    more = Read(*followed, Now()) || more;
    Tell(*followed, began);
  }
  if (began - counted_ >= kCountEvery) {
    counted_ = began;
    for (const auto& followed : followed_) Count(*followed);
  }
  if (more) return std::this_thread::sleep_for(ToChrono(std::min(kLongestRest, Now() - began)));
  std::vector<zmq::pollitem_t> items;
  for (const auto& followed : followed_) followed->stream.AddTo(items);
  zmq::poll(items, std::chrono::duration_cast<std::chrono::milliseconds>(ToChrono(kTurn)));
}

void KvEventThread::TakeSources(Sockets& sockets) {
  std::optional<std::vector<KvEventSource>> wanted;
  {
    std::lock_guard lock(mutex_);
    wanted = std::exchange(wanted_, std::nullopt);
  }
  const bool again = !wanted && again_at_ && Now() >= *again_at_;
  if (!wanted && !again) return;
  if (wanted) sources_ = *std::move(wanted);
  again_at_.reset();
  KvEventMetrics& metrics = edge_.telemetry->engines().kv_events();
  std::vector<std::unique_ptr<Followed>> before = std::exchange(followed_, {});
  for (const KvEventSource& source : sources_) {
    const auto same = std::find_if(before.begin(), before.end(),
                                   [&](const auto& each) { return each != nullptr && each->source == source; });
    if (same != before.end()) {
      followed_.push_back(std::exchange(*same, nullptr));
      continue;
    }
    auto stream = EventStream::Open(*sockets.context, source.events, source.replay);
    if (!stream.ok()) {
      again_at_ = Now() + kPatience;
      if (edge_.log != nullptr && !again) {
        edge_.log->Note(absl::StrCat("kv_events: ", stream.status().message(), "; the router goes on trying"),
                        LogLevel::kWarning);
      }
      continue;
    }
    CacheFollower follower(source.replica, edge_.pseudonym, stream->can_replay());
    followed_.push_back(
        std::make_unique<Followed>(Followed{source, *std::move(stream), std::move(follower), {}, {}, Now()}));
    metrics.Add(source.name, {}, {});
  }
  for (const auto& gone : before) {
    if (gone == nullptr) continue;
    metrics.Leave(gone->source.name);
    edge_.core->Submit(CacheReport{gone->source.replica, CacheNews::kUnsure, {}, {}});
  }
  tap_.Open(!followed_.empty());
}

void KvEventThread::TakeRuns(Instant now) {
  int64_t missed = 0;
  const std::vector<SeenAt> seen = tap_.Take(missed);
  if (missed > 0) {
    runs_.Clear();
    edge_.telemetry->engines().kv_events().OnMissedRequests(missed);
  }
  const auto of = [this](ReplicaId replica) {
    const auto found = std::find_if(followed_.begin(), followed_.end(),
                                    [replica](const auto& each) { return each->source.replica == replica; });
    return found == followed_.end() ? nullptr : &(*found)->follower;
  };
  for (const SeenAt& each : seen) {
    if (const auto* health = std::get_if<ReplicaHealth>(&each.what)) {
      CacheFollower* follower = of(health->replica);
      if (follower != nullptr && health->health != Health::kDown) follower->OnForgotten();
      continue;
    }
    RunBook::Change change = runs_.Take(each);
    CacheFollower* follower = change.turn == RunBook::Turn::kNothing ? nullptr : of(change.replica);
    if (follower == nullptr) continue;
    if (change.turn == RunBook::Turn::kDispatched) follower->runs().OnDispatched(std::move(change.run));
    if (change.turn == RunBook::Turn::kClosed) follower->runs().OnClosed(change.run);
    if (change.turn == RunBook::Turn::kGone) follower->runs().OnGone(change.run.request);
  }
  for (const auto& followed : followed_) followed->follower.Tick(now);
}

bool KvEventThread::HasTime(Instant began) const {
  return Now() - began < kTurn && !stop_.load(std::memory_order_relaxed);
}

bool KvEventThread::Read(Followed& followed, Instant now) {
  switch (followed.stream.TakeChange()) {
    case EventStream::Change::kConnected:
      followed.follower.OnConnected();
      followed.unheard_since.reset();
      Log(followed, "events of the cache are connected");
      break;
    case EventStream::Change::kDisconnected:
      followed.follower.OnDisconnected();
      Log(followed, "events of the cache are gone: its index is an estimate again", LogLevel::kWarning);
      break;
    case EventStream::Change::kEndless:
      followed.follower.OnGarbage();
      followed.follower.OnDisconnected();
      Log(followed, "events of the cache had a message without an end: the connection is closed");
      break;
    case EventStream::Change::kNone:
      break;
  }
  if (followed.unheard_since && now - *followed.unheard_since > kPatience) {
    followed.unheard_since.reset();
    Log(followed,
        absl::StrCat("events of the cache: ", followed.source.events,
                     " does not connect; the router goes on trying, and its index is an estimate"),
        LogLevel::kWarning);
  }
  followed.stream.KeepConnected(now);
  bool more = ReadReplay(followed, now);
  for (int i = 0; i < kPerTurn && HasTime(now); ++i) {
    const std::optional<EventMessage> message = followed.stream.Read();
    if (!message) return more;
    if (message->whole && !message->last) followed.follower.OnBatch(message->number, BatchOf(*message), now);
    if (!message->whole) followed.follower.OnGarbage();
  }
  return true;
}

bool KvEventThread::ReadReplay(Followed& followed, Instant now) {
  if (const std::optional<uint64_t> from = followed.follower.TakeRequest(now)) {
    followed.stream.ForgetReplay();
    // A request that cannot be sent ends by its timeout.
    static_cast<void>(followed.stream.AskFrom(*from));
  }
  if (followed.stream.ReplayWasEndless()) followed.follower.OnGarbage();
  for (int i = 0; i < kReplayedPerTurn && HasTime(now); ++i) {
    const std::optional<EventMessage> message = followed.stream.ReadReplay();
    if (!message) return false;
    if (message->last) followed.follower.OnReplayEnd(now);
    if (message->whole && !message->last) followed.follower.OnReplayed(message->number, BatchOf(*message), now);
  }
  return true;
}

void KvEventThread::Tell(Followed& followed, Instant) {
  for (const CacheReport& report : followed.follower.TakeReports()) edge_.core->Submit(report);
}

void KvEventThread::Count(Followed& followed) {
  const FollowerCounts counts = followed.follower.Counts();
  edge_.telemetry->engines().kv_events().Add(followed.source.name, followed.counted, counts);
  followed.counted = counts;
  if (counts.losses > followed.told.losses) Log(followed, "events of the cache were lost: its index begins anew");
  if (counts.restarts > followed.told.restarts) Log(followed, "events of the cache come from a new publisher");
  followed.told = counts;
}

void KvEventThread::Log(const Followed& followed, const std::string& message, LogLevel level) {
  if (edge_.log == nullptr) return;
  const auto suppressed = lines_.Take(Now());
  if (!suppressed) return;
  DecisionEntry entry;
  entry.level = level;
  entry.suppressed = *suppressed;
  entry.replica = followed.source.name;
  entry.message = message;
  edge_.log->Write(std::move(entry));
}

}  // namespace penstock
