#include "app/demo/demo_screen.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace penstock::bench {
namespace {

constexpr int kBarCells = 36;

double Share(Amount part, Amount whole) { return whole > Amount(0) ? part.AsDouble() / whole.AsDouble() : 0; }

int Cells(double share) { return static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * kBarCells)); }

// Held, then what is promised on top of it, then what the forecast's peak adds.
std::string Bar(const PoolView& pool) {
  const int held = Cells(Share(pool.held, pool.capacity));
  const int promised = Cells(Share(pool.promised, pool.capacity));
  const int peak = Cells(Share(pool.forecast_peak, pool.capacity));
  std::string bar;
  for (int cell = 0; cell < kBarCells; ++cell) {
    bar += cell < held ? "█" : cell < promised ? "▓" : cell < peak ? "▒" : "·";
  }
  return bar;
}

std::string InUnits(Amount amount, bool in_bytes) {
  return in_bytes ? absl::StrFormat("%.1f", amount.AsDouble() * 1e-9)
                  : absl::StrFormat("%.0fk", amount.AsDouble() * 1e-3);
}

std::string PoolLines(const DemoFrame& frame, const std::string& name) {
  const auto pool = std::find_if(frame.core.pools.begin(), frame.core.pools.end(),
                                 [&](const PoolView& view) { return view.name == name; });
  if (pool == frame.core.pools.end()) return absl::StrFormat("  %-10s starting\n", name);
  const auto replica = std::find_if(frame.core.replicas.begin(), frame.core.replicas.end(),
                                    [&](const ReplicaView& view) { return view.name == name; });
  std::string line = absl::StrFormat("  %-10s %s %4s held %4s promised %4s peak of %s%s", name, Bar(*pool),
                                     InUnits(pool->held, pool->in_bytes), InUnits(pool->promised, pool->in_bytes),
                                     InUnits(pool->forecast_peak, pool->in_bytes),
                                     InUnits(pool->capacity, pool->in_bytes), pool->in_bytes ? " GB" : " tokens");
  if (replica != frame.core.replicas.end()) {
    absl::StrAppendFormat(&line, "\n  %-10s %s, %d streams, %.0f tokens/s each", "", replica->model, replica->running,
                          replica->tokens_per_s);
  }
  return line + "\n";
}

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

std::string TtftText(const DemoSnapshot& stats) {
  if (!stats.ttft_s) return "-";
  return absl::StrFormat("p50 %.2f s   p99 %.2f s   (interactive, last 30 s)", stats.ttft_s->p50, stats.ttft_s->p99);
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

std::string DrawDemo(const DemoFrame& frame, const std::vector<DemoGpu>& gpus) {
  std::string text = absl::StrFormat("penstock demo   %s   %.0f s\n\n", frame.url, frame.elapsed.seconds());
  for (const DemoGpu& gpu : gpus) {
    absl::StrAppend(&text, gpu.title, "   KV memory: █ held  ▓ promised  ▒ forecast peak\n");
    for (const std::string& pool : gpu.pools) text += PoolLines(frame, pool);
    text += "\n";
  }
  const DemoSnapshot& stats = frame.stats;
  absl::StrAppendFormat(&text, "tokens/s   active %.0f   late %.0f   (last 10 s)\n", stats.active_per_s,
                        stats.late_per_s);
  const std::string sleep = SleepText(frame.core);
  if (!sleep.empty()) absl::StrAppend(&text, "sleep      ", sleep, "\n");
  absl::StrAppend(&text, "queue      ", QueueText(frame.core), "\n");
  absl::StrAppend(&text, "ttft       ", TtftText(stats), "\n");
  absl::StrAppendFormat(&text, "requests   %d running   %d finished   %.1f%% on time   %d failed\n",
                        Running(frame.core), stats.finished, OnTimePercent(stats), stats.failed);
  absl::StrAppend(&text, "refused    ", RefusedText(stats), "\n");
  return text;
}

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

}  // namespace penstock::bench
