// The token counters of all running streams, sampled for the decision core.
//
// A relay counts tokens in its own TokenCounter. Add and Remove take the short lock of their loop's shard. Sample()
// walks all shards and tells, per replica, the steps it saw and the streams that did not follow them. A stream that
// waits for its client shows the client's pace, so it counts only where its replica has no other. Thread-safe where
// marked.
#ifndef PENSTOCK_ROUTER_LIVE_PROGRESS_BOARD_H_
#define PENSTOCK_ROUTER_LIVE_PROGRESS_BOARD_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/token_counter.h"
#include "router/core/contract/event.h"

namespace penstock {

// When the tokens of a stream are due: the first one, and the time between each and the next.
struct DueTimes {
  Instant first = Instant::Never();
  Duration each;
};

// One stream's place on the board. Its owner keeps it alive, and its counter, from Add to Remove.
class BoardStream {
 public:
  // `sequences` outputs advance in each step, each by `tokens_per_step`.
  BoardStream(const TokenCounter& counter, RequestId request, ReplicaId replica, int64_t sequences,
              double tokens_per_step = 1, DueTimes due = {})
      : counter_(&counter),
        request_(request),
        replica_(replica),
        sequences_(std::max<int64_t>(1, sequences)),
        tokens_per_step_(std::max(1.0, tokens_per_step)),
        due_(due) {}

 private:
  friend class ProgressBoard;
  const TokenCounter* counter_;
  RequestId request_;
  ReplicaId replica_;
  int64_t sequences_;
  double tokens_per_step_;
  DueTimes due_;
  // The sampler's, under the shard's lock.
  int64_t reported_ = 0;  // Tokens that the core knows of.
  bool fresh_ = true;     // In no sample yet: the core may have missed steps or counted some twice.
  size_t position_ = 0;
};

class ProgressBoard {
 public:
  explicit ProgressBoard(size_t loops);

  // Any thread, after the core knows of the stream's first token.
  void Add(size_t loop, BoardStream& stream);
  void Remove(size_t loop, const BoardStream& stream);

  // The progress since the last sample, one event per group of replicas. `group[replica]` is the number of its group.
  // Replicas that share a pool share a group; a replica beyond the list has its own. Empty when nothing moved and no
  // replica has only streams that wait. One caller at a time.
  std::vector<Progress> Sample(const std::vector<uint32_t>& group, Instant now = Instant());
  // Streams whose next token was overdue at the last Sample, by replica; 0 where the list ends. Sample's caller.
  const std::vector<int64_t>& late() const { return late_; }

 private:
  struct Shard {
    std::mutex mutex;
    std::vector<BoardStream*> streams;
  };
  struct Row {
    RequestId request;
    ReplicaId replica;
    int64_t generated;
    int64_t before;
    int64_t sequences;
    bool fresh;
  };
  // The steps of a replica since the last sample.
  struct Tally {
    ReplicaProgress timely;   // Steps by the streams that were read as they came.
    ReplicaProgress delayed;  // Steps by those that waited for their clients.
    bool any_timely = false;
    const ReplicaProgress& progress() const { return any_timely ? timely : delayed; }
  };
  void Collect(Shard& shard, Instant now, absl::flat_hash_map<ReplicaId, Tally>& tallies);
  void NoteLate(const BoardStream& stream, int64_t generated, Instant now);

  std::vector<std::unique_ptr<Shard>> shards_;
  std::vector<Row> rows_;  // Reused between samples for its memory.
  std::vector<int64_t> late_;
  Instant sampled_at_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_PROGRESS_BOARD_H_
