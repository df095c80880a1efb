#include "backends/engines/vllm/vllm_sleep.h"

#include "absl/strings/str_cat.h"
#include "backends/dialect/json_values.h"

namespace penstock {

std::vector<VerbRequest> VllmSleep(const SleepTarget& target) {
  return {{absl::StrCat("/sleep?level=", target.level), ""}};
}

std::vector<VerbRequest> VllmWake(const SleepTarget& target) {
  if (target.level < 2) return {{"/wake_up", ""}};
  return {{"/wake_up?tags=weights", ""},
          {"/collective_rpc", R"({"method":"reload_weights"})"},
          {"/wake_up?tags=kv_cache", ""}};
}

EngineRest ReadVllmRest(absl::string_view body, const SleepTarget&) {
  const EngineJson document = ParseEngineJson(body);
  const EngineJson& sleeping = Member(document, "is_sleeping");
  if (!sleeping.is_boolean()) return EngineRest::kUnknown;
  return sleeping.get<bool>() ? EngineRest::kAsleep : EngineRest::kAwake;
}

absl::Status ReadVllmVerbs(absl::string_view body, Discovery* found) {
  found->sleep_verbs_off = ReadVllmRest(body, {}) == EngineRest::kUnknown;
  return absl::OkStatus();
}

void NoteVllmWithoutVerbs(Discovery* found) { found->sleep_verbs_off = true; }

}  // namespace penstock
