#include "backends/engines/llamacpp/llamacpp_facts.h"

#include <algorithm>
#include <string>

#include "absl/status/statusor.h"
#include "backends/dialect/json_values.h"
#include "backends/dialect/metrics_text.h"
#include "backends/engines/contract/possible.h"

namespace penstock {
namespace {

struct Props {
  int slots = 0;
  Tokens slot_context{0};
  bool sleeping = false;
  bool router_mode = false;  // A process for each model; its slots and metrics need a model name.
  std::string build;
};

absl::StatusOr<Props> ParseProps(absl::string_view body) {
  const EngineJson document = ParseEngineJson(body);
  Props props;
  props.router_mode = MemberText(document, "role") == "router";
  const EngineJson& settings = Member(document, "default_generation_settings");
  if (!props.router_mode && (!settings.is_object() || !Member(document, "total_slots").is_number_integer())) {
    return absl::InvalidArgumentError("props: no total_slots");
  }
  props.slots = static_cast<int>(std::clamp<int64_t>(MemberInt(document, "total_slots"), 0, 1 << 20));
  props.slot_context = Tokens(std::max<int64_t>(0, MemberInt(settings, "n_ctx")));
  const EngineJson& sleeping = Member(document, "is_sleeping");
  props.sleeping = sleeping.is_boolean() && sleeping.get<bool>();
  props.build = MemberText(document, "build_info");
  return props;
}

void SetIdle(Observation* seen) {
  seen->running = 0;
  seen->kv_used_share = 0;
  seen->kv_used_tokens = 0;
}

}  // namespace

absl::Status ReadLlamaProps(absl::string_view body, Discovery* found) {
  const absl::StatusOr<Props> props = ParseProps(body);
  if (!props.ok()) return props.status();
  found->version = props->build;
  found->process_per_model = props->router_mode;
  if (props->router_mode) return absl::OkStatus();
  found->kv_tokens = props->slot_context;
  found->sequence_limit = props->slot_context;
  found->block = Tokens(1);
  found->max_sequences = props->slots;
  found->overflow_fatal = true;
  return absl::OkStatus();
}

absl::Status ReadLlamaSleep(absl::string_view body, const Discovery&, Observation* seen) {
  const absl::StatusOr<Props> props = ParseProps(body);
  if (!props.ok()) return props.status();
  if (props->sleeping) SetIdle(seen);
  return absl::OkStatus();
}

absl::Status ReadLlamaMetrics(absl::string_view metrics, const Discovery&, Observation* seen) {
  MetricsReader reader(metrics);
  while (auto sample = reader.Next()) {
    const int count = sample->value >= 0 && sample->value < 1e9 ? static_cast<int>(sample->value) : -1;
    if (sample->name == "llamacpp:requests_processing") seen->running = count;
    if (sample->name == "llamacpp:requests_deferred") seen->waiting = count;
  }
  if (seen->running < 0) return absl::NotFoundError("metrics: no llamacpp:requests_processing");
  if (seen->running == 0) SetIdle(seen);
  return absl::OkStatus();
}

absl::Status ReadLlamaSlots(absl::string_view body, const Discovery& found, Observation* seen) {
  const EngineJson slots = ParseEngineJson(body);
  if (!slots.is_array()) return absl::InvalidArgumentError("slots: not an array");
  seen->running = 0;
  seen->kv_used_tokens = 0;
  for (const EngineJson& slot : slots) {
    const EngineJson& busy = Member(slot, "is_processing");
    if (!busy.is_boolean() || !busy.get<bool>()) continue;
    ++seen->running;
    AddReported(static_cast<double>(MemberInt(slot, "n_prompt_tokens")), kMostPoolTokens, &seen->kv_used_tokens);
  }
  if (found.kv_tokens > Tokens(0)) {
    seen->kv_used_share = static_cast<double>(seen->kv_used_tokens) / found.kv_tokens.AsDouble();
  }
  return absl::OkStatus();
}

std::vector<VerbRequest> LlamaUnload(const SleepTarget& target) {
  return {{"/models/unload", EngineJson{{"model", target.model}}.dump()}};
}

std::vector<VerbRequest> LlamaLoad(const SleepTarget& target) {
  return {{"/models/load", EngineJson{{"model", target.model}}.dump()}};
}

EngineRest ReadLlamaRest(absl::string_view body, const SleepTarget& target) {
  const EngineJson document = ParseEngineJson(body);
  for (const EngineJson& model : Member(document, "data")) {
    if (MemberText(model, "id") != target.model) continue;
    const EngineJson& status = Member(model, "status");
    const std::string value = MemberText(status, "value");
    const EngineJson& failed = Member(status, "failed");
    if (value == "unloaded" && failed.is_boolean() && failed.get<bool>()) return EngineRest::kFailed;
    if (value == "unloaded") return EngineRest::kAsleep;
    if (value == "loaded" || value == "sleeping") return EngineRest::kAwake;
    return value == "loading" ? EngineRest::kBetween : EngineRest::kUnknown;
  }
  return EngineRest::kUnknown;
}

}  // namespace penstock
