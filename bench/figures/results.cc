#include "bench/figures/results.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace penstock::bench {
namespace {

// Seconds per token behind the first; nullopt: fewer than two tokens.
std::optional<double> TpotOf(const RequestRecord& record) {
  const int64_t count = record.tokens.tokens();
  if (count < 2) return std::nullopt;
  return (record.tokens.last() - *record.tokens.first()).seconds() / static_cast<double>(count - 1);
}

// Sums that become one GroupResults.
struct GroupSums {
  int64_t offered = 0;
  int64_t finished = 0;
  int64_t refused = 0;
  int64_t on_time = 0;
  int64_t active = 0;
  int64_t goodput = 0;
  std::vector<double> ttft;
  std::vector<double> tpot;

  void Add(const RequestRecord& record) {
    ++offered;
    finished += record.fate == Fate::kFinished;
    refused += record.fate == Fate::kRefused;
    active += record.ActiveTokens();
    if (const std::optional<Duration> first = record.tokens.first())
      ttft.push_back((*first - record.arrival).seconds());
    if (const std::optional<double> each = TpotOf(record)) tpot.push_back(*each);
    if (!record.OnTime()) return;
    ++on_time;
    goodput += record.tokens.tokens();
  }

  GroupResults Over(double seconds) const {
    GroupResults group;
    group.offered = offered;
    group.finished = finished;
    group.refused = refused;
    group.on_time_share = offered == 0 ? 0 : static_cast<double>(on_time) / static_cast<double>(offered);
    group.active_tokens_per_s = static_cast<double>(active) / seconds;
    group.goodput_tokens_per_s = static_cast<double>(goodput) / seconds;
    group.ttft_s = PercentilesOf(ttft);
    group.tpot_s = PercentilesOf(tpot);
    return group;
  }
};

using Groups = std::map<std::string, GroupSums>;

std::map<std::string, GroupResults> Over(const Groups& groups, double seconds) {
  std::map<std::string, GroupResults> results;
  for (const auto& [name, sums] : groups) results.emplace(name, sums.Over(seconds));
  return results;
}

Groups ByPromptQuartile(const std::vector<RequestRecord>& records) {
  std::vector<size_t> order(records.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // Equal prompts stay in order of arrival, so a workload of one length is split by time.
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return records[a].prompt < records[b].prompt; });
  Groups groups = {{"q1", {}}, {"q2", {}}, {"q3", {}}, {"q4", {}}};
  for (size_t rank = 0; rank < order.size(); ++rank) {
    const size_t quartile = rank * 4 / order.size();
    groups[std::string("q") + static_cast<char>('1' + quartile)].Add(records[order[rank]]);
  }
  return groups;
}

// Tokens of the whole run by their outcome.
struct TokenSums {
  int64_t answered = 0;
  int64_t total = 0;
  int64_t late = 0;
  int64_t abandoned = 0;
  std::map<std::string, int64_t> wasted;

  void Add(const RequestRecord& record) {
    answered += record.tokens.tokens();
    total += record.tokens.in_window();
    const bool finished = record.fate == Fate::kFinished;
    const int64_t waste = finished ? record.tokens.late_in_window() : record.tokens.in_window();
    (finished ? late : abandoned) += waste;
    if (waste > 0) wasted[finished ? "late" : record.reason.empty() ? "unfinished" : record.reason] += waste;
  }
};

struct LatencySamples {
  std::vector<double> ttft;
  std::vector<double> tpot;
  std::vector<double> queue_wait;
  std::vector<double> refused_wait;

  void Add(const RequestRecord& record) {
    if (record.fate == Fate::kRefused) refused_wait.push_back((record.end - record.arrival).seconds());
    if (record.queue_wait) queue_wait.push_back(record.queue_wait->seconds());
    const std::optional<Duration> first = record.tokens.first();
    if (!first) return;
    ttft.push_back((*first - record.arrival).seconds());
    if (const std::optional<double> seconds = TpotOf(record)) tpot.push_back(*seconds);
  }
};

int64_t Sum(const std::map<std::string, int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0},
                         [](int64_t sum, const auto& entry) { return sum + entry.second; });
}

}  // namespace

void TokenTally::Add(Duration at, int64_t count) {
  if (counter_.tokens() == 0) first_ = at;
  last_ = at;
  const int64_t late = counter_.OnTokens(count, Instant() + at);
  if (at >= window_) return;
  in_window_ += count;
  late_in_window_ += late;
}

std::optional<Duration> TokenTally::first() const {
  return counter_.tokens() == 0 ? std::nullopt : std::optional<Duration>(first_);
}

bool RequestRecord::OnTime() const {
  if (fate != Fate::kFinished) return false;
  if (tokens.tokens() == 0) return end - arrival <= goals.ttft;
  return tokens.timely() == tokens.tokens();
}

int64_t Results::RefusedCount() const { return Sum(refused); }

int64_t Results::FailedCount() const { return Sum(failed); }

std::optional<Percentiles> PercentilesOf(std::vector<double> samples) {
  if (samples.empty()) return std::nullopt;
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(samples.size())));
    return samples[std::max<size_t>(rank, 1) - 1];
  };
  return Percentiles{at(0.50), at(0.90), at(0.99)};
}

GroupResults GroupOf(const std::vector<RequestRecord>& records, Duration duration) {
  GroupSums sums;
  for (const RequestRecord& record : records) sums.Add(record);
  return sums.Over(duration.seconds());
}

Results Summarise(const std::vector<RequestRecord>& records, Duration duration) {
  assert(duration > Duration());
  const double seconds = duration.seconds();
  Results results;
  GroupSums whole;
  TokenSums tokens;
  LatencySamples latencies;
  Groups classes, tenants, models, replicas;
  for (const RequestRecord& record : records) {
    whole.Add(record);
    tokens.Add(record);
    latencies.Add(record);
    classes[record.service_class].Add(record);
    tenants[record.tenant].Add(record);
    models[record.model].Add(record);
    if (!record.replica.empty()) replicas[record.replica].Add(record);
    if (record.fate == Fate::kRefused) ++results.refused[record.reason];
    if (record.fate == Fate::kFailed) ++results.failed[record.reason];
  }
  const GroupResults group = whole.Over(seconds);
  results.offered = group.offered;
  results.finished = group.finished;
  results.on_time_share = group.on_time_share;
  results.active_tokens_per_s = group.active_tokens_per_s;
  results.goodput_tokens_per_s = group.goodput_tokens_per_s;
  results.total_tokens_per_s = static_cast<double>(tokens.total) / seconds;
  results.late_tokens_per_s = static_cast<double>(tokens.late) / seconds;
  results.abandoned_tokens_per_s = static_cast<double>(tokens.abandoned) / seconds;
  results.answered_tokens_per_s = static_cast<double>(tokens.answered) / seconds;
  results.delivered_active_tokens_per_s = static_cast<double>(tokens.total - tokens.late - tokens.abandoned) / seconds;
  for (const auto& [cause, count] : tokens.wasted) {
    results.wasted_tokens_per_s[cause] = static_cast<double>(count) / seconds;
  }
  results.ttft_s = PercentilesOf(std::move(latencies.ttft));
  results.tpot_s = PercentilesOf(std::move(latencies.tpot));
  results.queue_wait_s = PercentilesOf(std::move(latencies.queue_wait));
  results.refused_wait_s = PercentilesOf(std::move(latencies.refused_wait));
  results.per_class = Over(classes, seconds);
  results.per_tenant = Over(tenants, seconds);
  results.per_model = Over(models, seconds);
  results.per_replica = Over(replicas, seconds);
  results.per_prompt_quartile = Over(ByPromptQuartile(records), seconds);
  return results;
}

}  // namespace penstock::bench
