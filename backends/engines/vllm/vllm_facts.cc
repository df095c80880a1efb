#include "backends/engines/vllm/vllm_facts.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "backends/dialect/json_values.h"
#include "backends/dialect/metrics_text.h"
#include "backends/engines/contract/possible.h"
#include "backends/engines/vllm/vllm_ranks.h"

namespace penstock {
namespace {

// Unset attributes are the text "None".
int64_t LabelInt(const MetricSample& sample, absl::string_view key, int64_t most) {
  const auto text = sample.Label(key);
  int64_t number = 0;
  return text && absl::SimpleAtoi(*text, &number) && number > 0 && number <= most ? number : 0;
}

struct Mean {
  double sum = 0;
  int count = 0;
  void Add(double value) {
    if (PossibleUse(value) < 0) return;
    sum += value;
    ++count;
  }
  double value() const { return count > 0 ? sum / count : -1; }
};

void NoteSleep(const std::optional<std::string>& state, double value, Observation* seen) {
  if (state == "awake" && value == 0) seen->sleeping = true;
  if (state == "weights_offloaded" && value == 1) seen->sleep_level = std::max(seen->sleep_level, SleepLevel::kHost);
  if (state == "discard_all" && value == 1) seen->sleep_level = SleepLevel::kDisk;
}

// The counters of the prefix cache, in tokens, for an engine or a rank. What the GPU lacks may lie in an external
// cache, as that in the memory of the host, so its hits count too.
template <class Load>
void NoteCache(absl::string_view name, double value, Load* load) {
  if (name == "prefix_cache_queries_total" || name == "prefix_cache_queries") {
    AddReported(value, kMostCounted, &load->cache_queries);
  }
  if (name == "prefix_cache_hits_total" || name == "prefix_cache_hits" || name == "external_prefix_cache_hits_total" ||
      name == "external_prefix_cache_hits") {
    AddReported(value, kMostCounted, &load->cache_hits);
  }
}

void NoteLoad(absl::string_view name, double value, RankLoad* load) {
  NoteCache(name, value, load);
  if (name == "num_requests_running") AddReported(value, kMostRequests, &load->running);
  if (name == "num_requests_waiting") AddReported(value, kMostRequests, &load->waiting);
  if (name == "num_preemptions_total" || name == "num_preemptions") {
    AddReported(value, kMostCounted, &load->preemptions);
  }
  if (name == "kv_cache_usage_perc") load->kv_used_share = PossibleUse(value);
  if (name == "gpu_cache_usage_perc" && load->kv_used_share < 0) load->kv_used_share = PossibleUse(value);
}

std::vector<RankLoad> RanksOf(absl::string_view metrics) {
  constexpr absl::string_view kOfRanks[] = {
      "num_requests_running",
      "num_requests_waiting",
      "num_preemptions_total",
      "num_preemptions",
      "kv_cache_usage_perc",
      "gpu_cache_usage_perc",
      "prefix_cache_hits_total",
      "prefix_cache_hits",
      "prefix_cache_queries",
      "prefix_cache_queries_total",
      "external_prefix_cache_hits_total",
      "external_prefix_cache_hits",
  };
  ByRank<RankLoad> ranks;
  MetricsReader reader(metrics);
  while (auto sample = reader.Next()) {
    if (!absl::StartsWith(sample->name, "vllm:")) continue;
    const absl::string_view name = sample->name.substr(5);
    if (std::find(std::begin(kOfRanks), std::end(kOfRanks), name) == std::end(kOfRanks)) continue;
    if (RankLoad* load = ranks.Of(*sample)) NoteLoad(name, sample->value, load);
  }
  return ranks.Take();
}

// Where no rank tells tokens, each has the number of blocks of all (v1/engine/core_client.py adds them). Numbers that
// differ are those of the ranks.
void ShareBlocks(std::vector<RankFacts>& ranks, int64_t* pool) {
  const auto differs = [&](const RankFacts& rank) { return rank.kv_tokens != ranks.front().kv_tokens; };
  if (ranks.empty() || std::any_of(ranks.begin(), ranks.end(), differs)) return;
  const auto count = static_cast<int64_t>(ranks.size());
  for (RankFacts& rank : ranks) rank.kv_tokens = Tokens(rank.kv_tokens.value() / count);
  *pool /= count;
}

}  // namespace

absl::Status ReadVllmVersion(absl::string_view body, Discovery* found) {
  found->version = MemberText(ParseEngineJson(body), "version");
  return absl::OkStatus();
}

absl::Status ReadVllmCapacity(absl::string_view metrics, Discovery* found) {
  int64_t pool = 0;
  bool tells_tokens = false;
  ByRank<RankFacts> ranks;
  MetricsReader reader(metrics);
  while (auto sample = reader.Next()) {
    // The Rust front end has no cache_config_info.
    if (sample->name == "vllm:num_requests_running") ranks.Of(*sample);
    if (sample->name == "vllm:spec_decode_num_drafts_total") found->speculates = true;
    if (sample->name != "vllm:cache_config_info") continue;
    const int64_t block = LabelInt(*sample, "block_size", kMostBlockTokens);
    int64_t tokens = LabelInt(*sample, "kv_cache_size_tokens", kMostPoolTokens);
    tells_tokens = tells_tokens || tokens > 0;
    if (tokens == 0) tokens = LabelInt(*sample, "num_gpu_blocks", kMostPoolTokens) * block;
    found->block = Tokens(block);
    AddReported(static_cast<double>(tokens), kMostPoolTokens, &pool);
    if (RankFacts* rank = ranks.Of(*sample)) rank->kv_tokens = Tokens(tokens);
  }
  found->ranks = ranks.Take();
  if (!tells_tokens) ShareBlocks(found->ranks, &pool);
  found->kv_tokens = Tokens(pool);
  return absl::OkStatus();
}

absl::Status ReadVllmScheduler(absl::string_view body, Discovery* found) {
  const EngineJson info = ParseEngineJson(body);
  const EngineJson& scheduler = Member(Member(info, "vllm_config"), "scheduler_config");
  const int64_t sequences = MemberInt(scheduler, "max_num_seqs"),
                budget = MemberInt(scheduler, "max_num_batched_tokens");
  if (sequences > 0 && sequences <= kMostRequests) found->max_sequences = static_cast<int>(sequences);
  if (budget > 0 && budget <= kMostBlockTokens) found->batch_budget = Tokens(budget);
  return absl::OkStatus();
}

absl::Status ReadVllmLoad(absl::string_view metrics, const Discovery& found, Observation* seen) {
  Mean use, old_use;
  if (!found.ranks.empty()) seen->ranks = RanksOf(metrics);
  MetricsReader reader(metrics);
  while (auto sample = reader.Next()) {
    if (!absl::StartsWith(sample->name, "vllm:")) continue;
    const absl::string_view name = sample->name.substr(5);
    NoteCache(name, sample->value, seen);
    if (name == "num_requests_running") AddReported(sample->value, kMostRequests, &seen->running);
    if (name == "num_requests_waiting") AddReported(sample->value, kMostRequests, &seen->waiting);
    if (name == "num_preemptions_total" || name == "num_preemptions") {
      AddReported(sample->value, kMostCounted, &seen->preemptions);
    }
    if (name == "prompt_tokens_total" || name == "generation_tokens_total") {
      AddReported(sample->value, kMostCounted, &seen->tokens);
    }
    if (name == "kv_cache_usage_perc") use.Add(sample->value);
    if (name == "gpu_cache_usage_perc") old_use.Add(sample->value);
    if (name == "engine_sleep_state") NoteSleep(sample->Label("sleep_state"), sample->value, seen);
  }
  seen->kv_used_share = use.count > 0 ? use.value() : old_use.value();
  return absl::OkStatus();
}

std::string AskVllmCount(absl::string_view text) {
  return absl::StrCat("{\"prompt\":\"", text, "\",\"add_special_tokens\":false}");
}

std::optional<Tokens> ReadVllmCount(absl::string_view answer) {
  const int64_t count = MemberInt(ParseEngineJson(answer), "count", -1);
  return count < 0 ? std::nullopt : std::optional<Tokens>(count);
}

bool LooksLikeVllm(absl::string_view metrics) {
  MetricsReader reader(metrics);
  while (auto sample = reader.Next()) {
    if (absl::StartsWith(sample->name, "vllm:")) return true;
  }
  return false;
}

}  // namespace penstock
