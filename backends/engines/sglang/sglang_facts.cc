#include "backends/engines/sglang/sglang_facts.h"

#include <algorithm>

#include "backends/dialect/json_values.h"
#include "backends/engines/contract/possible.h"

namespace penstock {
namespace {

constexpr int64_t kMostRanks = 1 << 16;

Tokens Positive(int64_t count) { return Tokens(std::max<int64_t>(0, count)); }

int64_t FirstReported(const EngineJson& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (const int64_t number = MemberInt(object, key); number > 0) return number;
  }
  return 0;
}

bool MemberIs(const EngineJson& object, const char* key) {
  const EngineJson& value = Member(object, key);
  return value.is_boolean() && value.get<bool>();
}

}  // namespace

absl::Status ReadSglangServerInfo(absl::string_view body, Discovery* found) {
  const EngineJson info = ParseEngineJson(body);
  const EngineJson& states = Member(info, "internal_states");
  const EngineJson& state = states.is_array() && !states.empty() ? states[0] : NullJson();
  int64_t tokens = MemberInt(info, "max_total_num_tokens");
  if (tokens <= 0) tokens = MemberInt(Member(state, "memory_usage"), "token_capacity");
  if (tokens <= 0 && !Member(info, "page_size").is_number()) {
    return absl::InvalidArgumentError("server_info: no max_total_num_tokens");
  }
  const int64_t ranks = std::clamp<int64_t>(MemberInt(info, "dp_size", 1), 1, kMostRanks);
  found->version = MemberText(info, "version");
  found->kv_tokens = Tokens(tokens > 0 && tokens <= kMostPoolTokens ? tokens * ranks : 0);
  found->block = Tokens(std::max<int64_t>(1, MemberInt(info, "page_size", 1)));
  int64_t running = FirstReported(state, {"effective_max_running_requests_per_dp"});
  if (running == 0) running = FirstReported(info, {"effective_max_running_requests_per_dp", "max_running_requests"});
  found->max_sequences =
      static_cast<int>(std::min<int64_t>(std::min<int64_t>(running, kMostRequests) * ranks, kMostRequests));
  found->batch_budget = Positive(MemberInt(info, "chunked_prefill_size"));
  found->sequence_limit = Positive(MemberInt(info, "max_req_input_len"));
  // Without the copy on the host, the weights are lost with their memory.
  found->sleep_verbs_off = !MemberIs(info, "enable_memory_saver");
  if (!MemberIs(info, "enable_weights_cpu_backup")) found->weights_path = MemberText(info, "model_path");
  return absl::OkStatus();
}

absl::Status ReadSglangLoads(absl::string_view body, const Discovery&, Observation* seen) {
  const EngineJson document = ParseEngineJson(body);
  const EngineJson& loads = Member(document, "loads");
  if (!loads.is_array()) return absl::InvalidArgumentError("loads: no loads array");
  seen->running = 0;
  seen->waiting = 0;
  int64_t used = 0, capacity = 0;
  const auto count = [](const EngineJson& load, const char* key) { return static_cast<double>(MemberInt(load, key)); };
  for (const EngineJson& load : loads) {
    AddReported(count(load, "num_running_reqs"), kMostRequests, &seen->running);
    AddReported(count(load, "num_waiting_reqs"), kMostRequests, &seen->waiting);
    AddReported(count(load, "num_used_tokens"), kMostPoolTokens, &used);
    AddReported(count(load, "max_total_num_tokens"), kMostPoolTokens, &capacity);
  }
  seen->kv_used_tokens = used;
  if (capacity > 0) seen->kv_used_share = static_cast<double>(used) / static_cast<double>(capacity);
  return absl::OkStatus();
}

std::vector<VerbRequest> SglangSleep(const SleepTarget&) {
  return {{"/flush_cache", "", true}, {"/release_memory_occupation", "{}"}};
}

std::vector<VerbRequest> SglangWake(const SleepTarget& target) {
  std::vector<VerbRequest> requests = {{"/resume_memory_occupation", "{}"}};
  if (!target.weights.empty()) {
    requests.push_back({"/update_weights_from_disk", EngineJson{{"model_path", target.weights}}.dump()});
  }
  return requests;
}

}  // namespace penstock
