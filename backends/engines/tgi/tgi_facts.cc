#include "backends/engines/tgi/tgi_facts.h"

#include <algorithm>

#include "backends/dialect/json_values.h"
#include "backends/dialect/metrics_text.h"
#include "backends/engines/contract/possible.h"

namespace penstock {
namespace {

Tokens PoolOf(absl::string_view metrics) {
  MetricsReader reader(metrics);
  while (auto sample = reader.Next()) {
    const bool sane = sample->value > 0 && sample->value < 9e15;
    if (sample->name == "tgi_batch_max_total_tokens" && sane) return Tokens(static_cast<int64_t>(sample->value));
  }
  return Tokens(0);
}

}  // namespace

absl::Status ReadTgiInfo(absl::string_view body, Discovery* found) {
  const EngineJson info = ParseEngineJson(body);
  const std::string model = MemberText(info, "model_id");
  if (model.empty() || !Member(info, "max_total_tokens").is_number()) {
    return absl::InvalidArgumentError("info: no model_id and max_total_tokens");
  }
  found->version = MemberText(info, "version");
  const Tokens context(std::max<int64_t>(0, MemberInt(info, "max_total_tokens")));
  found->models.push_back(ServedModel{model, context, "", ""});
  found->sequence_limit = context;
  found->max_sequences = static_cast<int>(std::clamp<int64_t>(MemberInt(info, "max_concurrent_requests"), 0, 1 << 20));
  return absl::OkStatus();
}

absl::Status ReadTgiPool(absl::string_view metrics, Discovery* found) {
  found->kv_tokens = PoolOf(metrics);
  return absl::OkStatus();
}

absl::Status ReadTgiLoad(absl::string_view metrics, const Discovery&, Observation* seen) {
  const Tokens pool = PoolOf(metrics);
  MetricsReader reader(metrics);
  while (auto sample = reader.Next()) {
    if (!(sample->value >= 0 && sample->value < 9e15)) continue;
    const auto count = static_cast<int64_t>(sample->value);
    if (sample->name == "tgi_queue_size") seen->waiting = static_cast<int>(std::min<int64_t>(count, kMostRequests));
    if (sample->name == "tgi_batch_current_size")
      seen->running = static_cast<int>(std::min<int64_t>(count, kMostRequests));
    if (sample->name == "tgi_batch_current_max_tokens") seen->kv_used_tokens = count;
  }
  if (pool > Tokens(0) && seen->kv_used_tokens >= 0) {
    seen->kv_used_share = static_cast<double>(seen->kv_used_tokens) / pool.AsDouble();
  }
  return absl::OkStatus();
}

}  // namespace penstock
