// One engine's cache as its events tell it, in the blocks of the router's index.
//
// Batches go in, in the order in which they come. Requests of the router go in as they begin and end. Reports for the
// core come out. A request that can be matched to the blocks that it stored binds its prompt blocks to them (Anchors).
// From then on each event about these blocks is news of the router's own. While the stream is interrupted, or after
// batches were lost, nothing is sure and the core's estimate holds again. Pure: time is an argument. Bounded by its
// rooms and by kMostHeld. Belongs to one thread. An event costs O(its blocks), a match O(prompt blocks + engine blocks
// of the prompt).
#ifndef PENSTOCK_ROUTER_KV_EVENTS_CACHE_FOLLOWER_H_
#define PENSTOCK_ROUTER_KV_EVENTS_CACHE_FOLLOWER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/kv_events/event_batch.h"
#include "base/ids.h"
#include "router/core/contract/event.h"
#include "router/kv_events/anchors.h"
#include "router/kv_events/chain_matcher.h"
#include "router/kv_events/core_news.h"
#include "router/kv_events/engine_blocks.h"
#include "router/kv_events/host_blocks.h"
#include "router/kv_events/sequence_watch.h"

namespace penstock {

// Counters since the start; the last two are levels.
struct FollowerCounts {
  int64_t batches = 0;
  int64_t stored = 0;  // Events, by kind.
  int64_t removed = 0;
  int64_t cleared = 0;
  int64_t ignored = 0;  // Of other types, groups of layers and tiers.
  int64_t garbage = 0;  // Messages that are no batch.
  int64_t missed = 0;   // Batches.
  int64_t replays = 0;  // Asked for.
  int64_t losses = 0;   // Times that the index was unsure for good: missing batches, garbage, a flood.
  int64_t restarts = 0;
  int64_t named = 0;  // Requests, by the end of their match.
  int64_t by_length = 0;
  int64_t ambiguous = 0;
  int64_t unmatched = 0;
  int64_t unowned = 0;    // Chains that nobody's request explains.
  int64_t conflicts = 0;  // Prompt blocks with two anchors: neither counts.
  int64_t confirmed = 0;  // Prompt blocks that the engine says it has, now.
  bool sure = false;      // The stream is whole.
};

class CacheFollower {
 public:
  // Batches that wait for a replay, at most.
  static constexpr size_t kMostHeld = 4096;
  // Their blocks and events; no replay under way holds more.
  static constexpr size_t kMostHeldEntries = 1 << 18;
  static constexpr Duration kReplayTimeout = Duration::Seconds(2);
  // Between two requests: a publisher whose numbers fall all the time gets no more of them.
  static constexpr Duration kReplayPause = Duration::Milliseconds(250);

  // `router`: as in SessionTag.
  CacheFollower(ReplicaId replica, std::string router, bool can_replay)
      : replica_(replica), router_(std::move(router)), watch_(can_replay) {}

  void OnConnected() {
    watch_.Connected();
    if (watch_.proven()) BecomeSure();
  }
  void OnDisconnected();
  // Nullopt: the message is no batch.
  void OnBatch(uint64_t number, std::optional<KvBatch> batch, Instant now);
  // A message whose frames are none of a batch: it has no number.
  void OnGarbage() { ++counts_.garbage; }
  void OnReplayed(uint64_t number, std::optional<KvBatch> batch, Instant now);
  void OnReplayEnd(Instant now) { EndReplay(false, now); }

  // The requests of the engine go there.
  ChainMatcher& runs() { return matcher_; }
  // The core forgot what it knew of the cache.
  void OnForgotten() {
    if (counts_.sure) TellAll();
  }
  // Ends searches and late replays. Several times a second.
  void Tick(Instant now);

  // The replay that is to be asked for, once.
  std::optional<uint64_t> TakeRequest(Instant now);
  std::vector<CacheReport> TakeReports() { return news_.Take(replica_); }
  FollowerCounts Counts() const;

 private:
  using Held = std::pair<uint64_t, std::optional<KvBatch>>;

  void Do(SequenceWatch::Step step, Held batch, Instant now);
  void EndReplay(bool failed, Instant now);
  void Apply(const KvBatch& batch, Instant now);
  void Apply(const KvEvent& event, Instant now);
  bool Concerns(const KvEvent& event);
  void Store(const KvEvent& event, Instant now);
  void Lose();
  void Restart();
  void BecomeSure();
  void TellAll();
  void Tell(const PromptBlock& block, bool stored);
  void TellOf(uint64_t engine_block, bool stored);

  const ReplicaId replica_;
  const std::string router_;
  SequenceWatch watch_;
  EngineBlocks blocks_;  // On the GPU.
  HostBlocks host_;
  Anchors anchors_;
  ChainMatcher matcher_;
  std::vector<Held> held_;
  size_t held_entries_ = 0;
  Instant next_request_;  // No replay is asked for before.
  std::optional<Instant> replay_until_;
  std::optional<int64_t> group_;  // The layers whose blocks count.
  int64_t block_size_ = 0;
  FollowerCounts counts_;
  CoreNews news_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_KV_EVENTS_CACHE_FOLLOWER_H_
