// The choice of the next line: how many lines of batches are in the core, and of which batch. Pure.
//
// The core decides when and where a line runs. The schedule keeps just enough lines there. Per lane, which is a model,
// a quarter as many wait as run, and kLeastWaiting at least. So lines follow the room that the fleet has, and a batch
// of a million lines takes the memory of some hundred.
//
// The tenant with the fewest lines in the core goes first, by weight. A batch that is behind its window counts double.
// Among the batches of one tenant the nearest deadline goes first. Among the lanes of a batch the one with the fewest
// lines in the core does. A lane of a batch whose line was refused pauses; then one line at a time is tried until one
// has an answer. Costs a pass over the batches and their lanes per line. One owner, not thread-safe.
#ifndef PENSTOCK_ROUTER_JOBS_SCHEDULE_JOB_SCHEDULE_H_
#define PENSTOCK_ROUTER_JOBS_SCHEDULE_JOB_SCHEDULE_H_

#include <cstdint>
#include <limits>
#include <map>
#include <optional>

#include "base/ids.h"
#include "base/units.h"
#include "router/jobs/store/job_values.h"

namespace penstock::jobs {

// The facts of one batch.
struct ScheduledJob {
  TenantId tenant;
  double weight = 1;                                          // The tenant's.
  int64_t tenant_most = std::numeric_limits<int64_t>::max();  // Most lines of the tenant in the core.
  Instant began;
  Instant deadline = Instant::Never();
  int64_t total = 0;
};

// One line that is in the core. A value that its owner hands back.
struct LinePlace {
  BatchKey job;
  TenantId tenant;
  uint64_t lane = 0;
  bool placed = false;  // At an engine.
  int64_t bytes = 0;    // The length of the line, which its owner notes.
};

class JobSchedule {
 public:
  // Lines that wait in the core per lane, whatever runs.
  static constexpr int64_t kLeastWaiting = 8;
  // Batches whose lines are in memory.
  static constexpr int64_t kMostLoaded = 64;
  // The least number of lines at hand of a batch that has more in the store.
  static constexpr int64_t kLowWater = 64;
  // The same while no lane of the batch may start a line.
  static constexpr int64_t kLowWaterBlocked = 384;
  // Lines at hand with so many bytes are enough in both cases, however few they are.
  static constexpr int64_t kLowWaterBytes = 4 << 20;
  static constexpr int64_t kLowWaterBlockedBytes = 24 << 20;
  static constexpr Duration kShortestPause = Duration::Milliseconds(250);
  static constexpr Duration kLongestPause = Duration::Seconds(60);

  // Most lines in the core.
  void SetMost(int64_t most) { most_ = most; }
  // A new batch, or new facts of one.
  void Put(BatchKey key, const ScheduledJob& job);
  // None of its lines is in the core.
  void Remove(BatchKey key) { jobs_.erase(key); }
  bool Has(BatchKey key) const { return jobs_.contains(key); }

  // The batch has `at_hand` lines for `lane` in memory, and `open` lines without an answer. Its lines in memory have
  // `bytes` in all lanes.
  void SetLines(BatchKey key, int64_t at_hand, uint64_t lane, int64_t open, int64_t bytes = 0);
  void SetOpen(BatchKey key, int64_t open) { jobs_.at(key).open = open; }
  // A read of lines is on its way. It ended: `drained`, the store has no further lines. A job that has left is passed
  // over.
  void OnClaim(BatchKey key) { jobs_.at(key).claiming = true; }
  void OnClaimed(BatchKey key, bool drained);
  // The store did not give the lines.
  void OnClaimFailed(BatchKey key, Instant now, Duration pause);
  // The batch whose lines are to be read: it has too few at hand. Without `room` in memory only a tenant without a line
  // there reads some.
  std::optional<BatchKey> NextClaim(Instant now, bool room = true) const;

  // The batch of which a line goes to the core; none: there are enough, or nothing is at hand.
  std::optional<BatchKey> Next(Instant now) const;
  // The earliest end of a pause. Never: there is none.
  Instant NextChange(Instant now) const;

  // A line of LinePlace::lane goes, after Next().
  LinePlace OnStart(BatchKey key, Instant now);
  void OnPlaced(LinePlace& place);
  // Its engine lost it, or another request took its place.
  void OnUnplaced(LinePlace& place);
  void OnEnd(const LinePlace& place);
  // The line may succeed later. `retry_after`: the hint that it got.
  void OnRefused(BatchKey key, uint64_t lane, Instant now, Duration retry_after);
  // A line has its final answer.
  void OnAnswered(BatchKey key, uint64_t lane);

  int64_t waiting() const { return total_.waiting; }
  int64_t placed() const { return total_.placed; }

 private:
  struct Counts {
    int64_t waiting = 0;
    int64_t placed = 0;
    int64_t all() const { return waiting + placed; }
  };
  // The lines of one batch for one lane.
  struct JobLane {
    int64_t at_hand = 0;
    Counts in_core;
    int refusals = 0;  // Since a line had an answer.
    Instant paused_until;
  };
  struct Job {
    ScheduledJob facts;
    std::map<uint64_t, JobLane> lanes;  // With a line at hand or in the core.
    int64_t at_hand = 0;
    int64_t bytes = 0;  // The bodies of the lines at hand.
    int64_t open = 0;
    Counts in_core;
    bool claiming = false;
    bool drained = false;
    Instant claims_pause_until;
    bool loaded() const { return at_hand > 0 || in_core.all() > 0 || claiming; }
  };
  // The place of a batch among others: the least goes first.
  struct Rank {
    double share = 0;
    Instant deadline;
    auto operator<=>(const Rank&) const = default;
  };

  bool MayStart(uint64_t lane, const JobLane& lines, Instant now) const;
  // The lane of the batch's next line.
  std::optional<uint64_t> LaneToStart(const Job& job, Instant now) const;
  bool NeedsLines(const Job& job, Instant now) const;
  Rank RankOf(const Job& job, Instant now) const;
  template <class Change>
  void Apply(const LinePlace& place, Change change);

  int64_t most_ = 1024;
  std::map<BatchKey, Job> jobs_;
  std::map<uint64_t, Counts> lanes_;    // With a line in the core.
  std::map<TenantId, Counts> tenants_;  // With a line in the core.
  Counts total_;
};

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_SCHEDULE_JOB_SCHEDULE_H_
