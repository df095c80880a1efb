#include "router/live/progress_board.h"

#include <algorithm>
#include <cmath>

#include "absl/container/btree_map.h"

namespace penstock {
namespace {

// A stream that has waited for its client takes up to so long to read what came meanwhile.
constexpr Duration kBacklog = Duration::Milliseconds(100);

}  // namespace

ProgressBoard::ProgressBoard(size_t loops) {
  for (size_t i = 0; i < loops; ++i) shards_.push_back(std::make_unique<Shard>());
}

void ProgressBoard::Add(size_t loop, BoardStream& stream) {
  Shard& shard = *shards_[loop];
  std::lock_guard lock(shard.mutex);
  stream.reported_ = stream.counter_->generated();
  stream.fresh_ = true;
  stream.position_ = shard.streams.size();
  shard.streams.push_back(&stream);
}

void ProgressBoard::Remove(size_t loop, const BoardStream& stream) {
  Shard& shard = *shards_[loop];
  std::lock_guard lock(shard.mutex);
  shard.streams.back()->position_ = stream.position_;
  shard.streams[stream.position_] = shard.streams.back();
  shard.streams.pop_back();
}

void ProgressBoard::NoteLate(const BoardStream& stream, int64_t generated, Instant now) {
  if (stream.due_.first == Instant::Never()) return;
  if (now <= stream.due_.first + stream.due_.each * (generated / stream.sequences_)) return;
  if (stream.replica_.value() >= late_.size()) late_.resize(stream.replica_.value() + 1, 0);
  ++late_[stream.replica_.value()];
}

void ProgressBoard::Collect(Shard& shard, Instant now, absl::flat_hash_map<ReplicaId, Tally>& tallies) {
  std::lock_guard lock(shard.mutex);
  for (BoardStream* stream : shard.streams) {
    const int64_t generated = stream->counter_->generated();
    rows_.push_back(
        Row{stream->request_, stream->replica_, generated, stream->reported_, stream->sequences_, stream->fresh_});
    const bool waited =
        stream->counter_->waited_until() != Instant() && stream->counter_->waited_until() + kBacklog >= sampled_at_;
    Tally& tally = tallies[stream->replica_];
    tally.any_timely |= !waited;
    ReplicaProgress& progress = waited ? tally.delayed : tally.timely;
    progress.replica = stream->replica_;
    const double per_step = static_cast<double>(stream->sequences_) * stream->tokens_per_step_;
    const auto steps = static_cast<int64_t>(std::ceil(static_cast<double>(generated - stream->reported_) / per_step));
    progress.steps = std::max(progress.steps, steps);
    progress.newest_step_end = std::max(progress.newest_step_end, stream->counter_->newest());
    NoteLate(*stream, generated, now);
    stream->reported_ = generated;
    stream->fresh_ = false;
  }
}

std::vector<Progress> ProgressBoard::Sample(const std::vector<uint32_t>& group, Instant now) {
  rows_.clear();
  std::fill(late_.begin(), late_.end(), 0);
  absl::flat_hash_map<ReplicaId, Tally> tallies;
  for (const std::unique_ptr<Shard>& shard : shards_) Collect(*shard, now, tallies);
  sampled_at_ = now;
  const auto group_of = [&group](ReplicaId replica) -> uint64_t {
    return replica.value() < group.size() ? group[replica.value()] : (uint64_t{1} << 32) + replica.value();
  };
  absl::btree_map<uint64_t, Progress> events;
  for (const Row& row : rows_) {
    const int64_t steps = tallies[row.replica].progress().steps;
    if (!row.fresh && row.before + steps * row.sequences == row.generated) continue;
    events[group_of(row.replica)].corrections.push_back(StreamTokens{row.request, Tokens(row.generated)});
  }
  for (auto& [id, tally] : tallies) {
    tally.delayed.delayed = true;
    const ReplicaProgress& progress = tally.progress();
    if (progress.steps > 0 || progress.delayed) events[group_of(id)].replicas.push_back(progress);
  }
  std::vector<Progress> result;
  for (auto& [number, progress] : events) {
    std::sort(progress.replicas.begin(), progress.replicas.end(),
              [](const ReplicaProgress& a, const ReplicaProgress& b) { return a.replica < b.replica; });
    result.push_back(std::move(progress));
  }
  return result;
}

}  // namespace penstock
