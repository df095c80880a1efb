#include "backends/engines/llamacpp/llamacpp_facts.h"

#include <algorithm>

#include "backends/dialect/json_values.h"
#include "backends/dialect/metrics_text.h"

namespace penstock {

absl::StatusOr<LlamaProps> ParseLlamaProps(absl::string_view body) {
  const EngineJson document = ParseEngineJson(body);
  LlamaProps props;
  props.many_models = MemberText(document, "role") == "router";
  const EngineJson& settings = Member(document, "default_generation_settings");
  if (!props.many_models && (!settings.is_object() || !Member(document, "total_slots").is_number_integer())) {
    return absl::InvalidArgumentError("props: no total_slots");
  }
  props.slots = static_cast<int>(std::clamp<int64_t>(MemberInt(document, "total_slots"), 0, 1 << 20));
  props.slot_context = Tokens(std::max<int64_t>(0, MemberInt(settings, "n_ctx")));
  const EngineJson& sleeping = Member(document, "is_sleeping");
  props.sleeping = sleeping.is_boolean() && sleeping.get<bool>();
  props.build = MemberText(document, "build_info");
  return props;
}

Discovery DiscoveryFromProps(const LlamaProps& props) {
  Discovery found;
  found.kind = EngineKind::kLlamaCpp;
  found.version = props.build;
  if (props.many_models) return found;
  found.kv_tokens = props.slot_context;
  found.sequence_limit = props.slot_context;
  found.block = Tokens(1);
  found.max_sequences = props.slots;
  found.overflow_fatal = true;
  return found;
}

absl::StatusOr<Observation> ReadLlamaSlots(absl::string_view body, Tokens capacity) {
  const EngineJson slots = ParseEngineJson(body);
  if (!slots.is_array()) return absl::InvalidArgumentError("slots: not an array");
  Observation seen;
  seen.running = 0;
  seen.kv_used_tokens = 0;
  for (const EngineJson& slot : slots) {
    const EngineJson& busy = Member(slot, "is_processing");
    if (!busy.is_boolean() || !busy.get<bool>()) continue;
    ++seen.running;
    seen.kv_used_tokens += std::max<int64_t>(0, MemberInt(slot, "n_prompt_tokens"));
  }
  if (capacity > Tokens(0)) seen.kv_used_share = static_cast<double>(seen.kv_used_tokens) / capacity.AsDouble();
  return seen;
}

Observation ReadLlamaMetrics(absl::string_view metrics) {
  Observation seen;
  MetricsReader reader(metrics);
  while (auto sample = reader.Next()) {
    const int count = sample->value >= 0 && sample->value < 1e9 ? static_cast<int>(sample->value) : -1;
    if (sample->name == "llamacpp:requests_processing") seen.running = count;
    if (sample->name == "llamacpp:requests_deferred") seen.waiting = count;
  }
  return seen;
}

}  // namespace penstock
