#include "app/demo/demo_stats.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace penstock::bench {
namespace {

constexpr Duration kTokenWindow = Duration::Seconds(10);
constexpr Duration kLatencyWindow = Duration::Seconds(30);

}  // namespace

int64_t DemoSnapshot::RefusedCount() const {
  return std::accumulate(refused.begin(), refused.end(), int64_t{0},
                         [](int64_t sum, const auto& entry) { return sum + entry.second; });
}

void DemoStats::OnSettled(const RequestRecord& record, Duration now) {
  const std::lock_guard lock(mutex_);
  totals_.tokens += record.tokens.tokens();
  totals_.on_time += record.OnTime();
  if (record.fate == Fate::kFinished) ++totals_.finished;
  if (record.fate == Fate::kFailed) ++totals_.failed;
  if (record.fate == Fate::kRefused) ++totals_.refused[record.reason];
  Ended ended{now, record.ActiveTokens(), 0, std::nullopt};
  if (record.fate == Fate::kFinished) ended.late = record.tokens.tokens() - ended.active;
  const std::optional<Duration> first = record.tokens.first();
  if (first && record.service_class == "interactive") ended.ttft = (*first - record.arrival).seconds();
  recent_.push_back(ended);
  while (recent_.front().at + kLatencyWindow < now) recent_.pop_front();
}

void DemoStats::OnStall(Duration longest) {
  const std::lock_guard lock(mutex_);
  totals_.longest_stall = std::max(totals_.longest_stall, longest);
}

DemoSnapshot DemoStats::Snapshot(Duration now) const {
  const std::lock_guard lock(mutex_);
  DemoSnapshot snapshot = totals_;
  std::vector<double> ttfts;
  for (const Ended& ended : recent_) {
    if (ended.at + kLatencyWindow < now) continue;
    if (ended.ttft) ttfts.push_back(*ended.ttft);
    if (ended.at + kTokenWindow < now) continue;
    snapshot.active_per_s += static_cast<double>(ended.active) / kTokenWindow.seconds();
    snapshot.late_per_s += static_cast<double>(ended.late) / kTokenWindow.seconds();
  }
  snapshot.ttft_s = PercentilesOf(std::move(ttfts));
  return snapshot;
}

}  // namespace penstock::bench
