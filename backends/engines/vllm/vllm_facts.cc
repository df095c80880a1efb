#include "backends/engines/vllm/vllm_facts.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "backends/dialect/json_values.h"
#include "backends/dialect/metrics_text.h"

namespace penstock {
namespace {

// Unset attributes are the text "None".
int64_t LabelInt(const MetricSample& sample, absl::string_view key) {
  const auto text = sample.Label(key);
  int64_t number = 0;
  return text && absl::SimpleAtoi(*text, &number) && number > 0 ? number : 0;
}

struct Mean {
  double sum = 0;
  int count = 0;
  void Add(double value) {
    if (!std::isfinite(value)) return;
    sum += value;
    ++count;
  }
  double value() const { return count > 0 ? sum / count : -1; }
};

template <class Number>
void Accumulate(double value, Number* total) {
  if (!std::isfinite(value) || value < 0 || value > 9e15) return;
  *total = std::max<Number>(*total, 0) + static_cast<Number>(value);
}

}  // namespace

absl::Status ReadVllmVersion(absl::string_view body, Discovery* found) {
  found->version = MemberText(ParseEngineJson(body), "version");
  return absl::OkStatus();
}

absl::Status ReadVllmCapacity(absl::string_view metrics, Discovery* found) {
  MetricsReader reader(metrics);
  while (auto sample = reader.Next()) {
    if (sample->name != "vllm:cache_config_info") continue;
    const int64_t block = LabelInt(*sample, "block_size");
    int64_t tokens = LabelInt(*sample, "kv_cache_size_tokens");
    if (tokens == 0) tokens = LabelInt(*sample, "num_gpu_blocks") * block;
    found->block = Tokens(block);
    found->kv_tokens += Tokens(tokens);
  }
  return absl::OkStatus();
}

absl::Status ReadVllmLoad(absl::string_view metrics, const Discovery&, Observation* seen) {
  Mean use, old_use;
  MetricsReader reader(metrics);
  while (auto sample = reader.Next()) {
    if (!absl::StartsWith(sample->name, "vllm:")) continue;
    const absl::string_view name = sample->name.substr(5);
    if (name == "num_requests_running") Accumulate(sample->value, &seen->running);
    if (name == "num_requests_waiting") Accumulate(sample->value, &seen->waiting);
    if (name == "num_preemptions_total" || name == "num_preemptions") Accumulate(sample->value, &seen->preemptions);
    if (name == "prompt_tokens_total" || name == "generation_tokens_total") Accumulate(sample->value, &seen->tokens);
    if (name == "kv_cache_usage_perc") use.Add(sample->value);
    if (name == "gpu_cache_usage_perc") old_use.Add(sample->value);
    if (name == "engine_sleep_state" && sample->value == 0 && sample->Label("sleep_state") == "awake") {
      seen->sleeping = true;
    }
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
