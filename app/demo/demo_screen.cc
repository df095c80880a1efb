#include "app/demo/demo_screen.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace penstock::bench {
namespace {

double Share(Amount part, Amount whole) { return whole > Amount(0) ? part.AsDouble() / whole.AsDouble() : 0; }

// The replicas that may sleep; empty: there are none.
std::string SleepText(const CoreView& core) {
  std::string text;
  for (const ReplicaView& replica : core.replicas) {
    if (!replica.sleeps) continue;
    const absl::string_view state =
        replica.residency == Residency::kFallingAsleep ? "falling asleep" : LabelOf(replica.residency);
    absl::StrAppendFormat(&text, "%s%s %s, woke %d times (%.1f s)", text.empty() ? "" : "   ", replica.name, state,
                          replica.wakes_ordered, replica.wake_time);
  }
  return text;
}

std::string RefusedText(const DemoSnapshot& stats) {
  std::string text = absl::StrCat(stats.RefusedCount());
  const char* separator = " (";
  for (const auto& [reason, count] : stats.refused) {
    absl::StrAppend(&text, separator, reason, " ", count);
    separator = ", ";
  }
  return stats.refused.empty() ? text : text + ")";
}

// Sums lanes of one class over models.
std::string QueueText(const CoreView& core) {
  std::vector<LaneView> classes;
  for (const LaneView& lane : core.lanes) {
    auto found = std::find_if(classes.begin(), classes.end(),
                              [&](const LaneView& view) { return view.service_class == lane.service_class; });
    if (found == classes.end()) found = classes.insert(found, LaneView{"", lane.service_class, 0, Duration()});
    found->waiting += lane.waiting;
    found->oldest_wait = std::max(found->oldest_wait, lane.oldest_wait);
  }
  std::string text;
  for (const LaneView& view : classes) {
    if (view.waiting == 0) continue;
    absl::StrAppendFormat(&text, "%s%s %d (oldest %.1f s)", text.empty() ? "" : "   ", view.service_class, view.waiting,
                          view.oldest_wait.seconds());
  }
  return text.empty() ? "empty" : text;
}

double OnTimePercent(const DemoSnapshot& stats) {
  return 100.0 * static_cast<double>(stats.on_time) / static_cast<double>(std::max<int64_t>(1, stats.Ended()));
}

int64_t Running(const CoreView& core) {
  int64_t running = 0;
  for (const ReplicaView& replica : core.replicas) running += replica.running;
  return running;
}

}  // namespace

std::string DemoLine(const DemoFrame& frame) {
  std::string pools;
  for (const PoolView& pool : frame.core.pools) {
    absl::StrAppendFormat(&pools, " %s %.0f/%.0f%%", pool.name, 100 * Share(pool.held, pool.capacity),
                          100 * Share(pool.promised, pool.capacity));
  }
  const DemoSnapshot& stats = frame.stats;
  std::string line =
      absl::StrFormat("%4.0f s  active %.0f tok/s  late %.0f  running %d  queue %s  refused %s  on time %.1f%%",
                      frame.elapsed.seconds(), stats.active_per_s, stats.late_per_s, Running(frame.core),
                      QueueText(frame.core), RefusedText(stats), OnTimePercent(stats));
  if (stats.ttft_s) absl::StrAppendFormat(&line, "  ttft p50 %.2f p99 %.2f s", stats.ttft_s->p50, stats.ttft_s->p99);
  if (const std::string sleep = SleepText(frame.core); !sleep.empty()) absl::StrAppend(&line, "  sleep ", sleep);
  return absl::StrCat(line, "  memory held/promised", pools);
}

std::string ContestText(const std::vector<ComparisonRow>& rows) {
  std::string text;
  for (const ComparisonRow& row : rows) {
    const double on_time =
        100.0 * static_cast<double>(row.on_time) / static_cast<double>(std::max<int64_t>(1, row.requests));
    absl::StrAppendFormat(&text, "%s%s: on time %.1f%%  active %.0f tok/s", text.empty() ? "same traffic  " : "   ",
                          row.policy, on_time, row.active_per_s);
    if (row.ttft_p99) absl::StrAppendFormat(&text, "  ttft p99 %.2f s", *row.ttft_p99);
  }
  return text;
}

}  // namespace penstock::bench
