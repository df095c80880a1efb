#include "tests/app/reloads/drawn_config.h"

#include <iterator>

#include "absl/strings/str_cat.h"

namespace penstock::testing {
namespace {

constexpr const char* kModels[] = {"llama-3.1-8b", "qwen2.5-7b", "qwen2.5-3b"};
constexpr const char* kGpus[] = {"n0/g0", "n0/g1", "n1/g0", "n1/g1"};
constexpr const char* kPairGpus[] = {"n2/g0", "n2/g1"};
constexpr const char* kAdapters[] = {"sql", "poems", "mails"};
constexpr uint64_t kMostReplicas = 7;

// Shorter than a test's calm time, so that nothing waits for longer.
std::string ClassText(Choices& choices, const std::string& name) {
  static constexpr const char* kGoals[] = {"300ms", "1s", "2s", "20s"};
  static constexpr const char* kQueues[] = {"1s", "5s", "30s", "30s"};
  std::string text = absl::StrCat("  ", name, ": {ttft: ", kGoals[choices.Below(4)],
                                  ", tpot: 100ms, queue: ", kQueues[choices.Below(4)],
                                  ", evictable: ", choices.OneIn(3) ? "true" : "false");
  if (choices.OneIn(3)) absl::StrAppend(&text, ", refuse_late: false");
  if (choices.OneIn(4)) absl::StrAppend(&text, ", share: 0.2");
  return text + "}\n";
}

std::string ClassesText(Choices& choices) {
  std::string text = "classes:\n";
  for (const char* name : {"interactive", "standard", "background"}) text += ClassText(choices, name);
  for (const char* name : {"nightly", "weekly"}) {
    if (choices.OneIn(2)) text += ClassText(choices, name);
  }
  return text;
}

std::string GpusText(Choices& choices) {
  std::string text = "gpus:\n";
  for (const char* gpu : kGpus) {
    absl::StrAppend(&text, "  - {id: ", gpu, ", kind: a100-80, memory: ", choices.OneIn(6) ? "40GB" : "80GB");
    if (choices.OneIn(3)) absl::StrAppend(&text, ", sharing: mps");
    if (choices.OneIn(3)) absl::StrAppend(&text, ", elastic_kv: 20GB, elastic: ", choices.OneIn(2) ? "manage" : "read");
    if (choices.OneIn(3)) absl::StrAppend(&text, ", price: ", 1 + choices.Below(4));
    text += "}\n";
  }
  for (const char* gpu : kPairGpus) absl::StrAppend(&text, "  - {id: ", gpu, ", kind: h100}\n");
  if (choices.OneIn(2)) return text;
  return absl::StrCat(text, "nodes:\n  - {id: n0, sleep_memory: ", 1 + choices.Below(40), "GB}\n",
                      choices.OneIn(2) ? "  - {id: n1, sleep_memory: 20GB}\n" : "");
}

std::string SleepText(Choices& choices) {
  if (choices.OneIn(2)) return absl::StrCat(", sleep: {after: ", 1 + choices.Below(30), "s, wake: 2s, level: 1}");
  return ", sleep: {after: 5s, wake: 1s, by: command, start: up, stop: down}";
}

// A pair needs both roles, on GPUs without elastic memory.
std::string RoleText(uint64_t number) {
  const std::string place = absl::StrCat(", gpus: [", kPairGpus[number % 2], "], model: ", kModels[0]);
  return place +
         (number % 2 == 0 ? ", kv_memory: 1GB, role: prefill, transfer: 50GB/s" : ", kv_memory: 8GB, role: decode");
}

std::string PlaceText(Choices& choices, uint64_t number, bool paired) {
  static constexpr const char* kMemory[] = {"100MB", "1GB", "8GB"};
  std::string text = absl::StrCat(", gpus: [", kGpus[choices.Below(std::size(kGpus))], "]");
  const size_t first = paired ? 1 : 0;
  const bool named = !choices.OneIn(5);
  if (named) absl::StrAppend(&text, ", model: ", kModels[first + choices.Below(std::size(kModels) - first)]);
  if (!choices.OneIn(4)) absl::StrAppend(&text, ", kv_memory: ", kMemory[choices.Below(3)]);
  if (choices.OneIn(3)) absl::StrAppend(&text, ", resident: ", 5 + choices.Below(20), "GB");
  if (choices.OneIn(4)) absl::StrAppend(&text, ", elastic: {segment: s", number, "}");
  if (named && choices.OneIn(2)) text += SleepText(choices);
  return text;
}

std::string ReplicaText(Choices& choices, uint64_t number, bool paired) {
  std::string text =
      absl::StrCat("  - {id: r", number, ", url: 'http://h", choices.OneIn(8) ? "other" : "", ":", number + 1, "'");
  text += paired && (number < 2 || choices.OneIn(3)) ? RoleText(number) : PlaceText(choices, number, paired);
  if (choices.OneIn(3)) absl::StrAppend(&text, ", max_seqs: ", 1 + choices.Below(8));
  if (choices.OneIn(3)) absl::StrAppend(&text, ", max_adapters: ", 1 + choices.Below(2));
  if (choices.OneIn(16)) absl::StrAppend(&text, ", host_cache: {memory: 1GB, bandwidth: 20GB/s}");
  if (choices.OneIn(8)) absl::StrAppend(&text, ", drain: true");
  return text + "}\n";
}

// Adapters have models that some replica names.
std::string AdaptersText(Choices& choices, const std::string& replicas) {
  std::string text;
  for (const char* adapter : kAdapters) {
    const std::string model = kModels[choices.Below(std::size(kModels))];
    if (choices.OneIn(3) || replicas.find("model: " + model) == std::string::npos) continue;
    absl::StrAppend(&text, "  - {name: ", adapter, ", path: /a/", adapter, ", model: ", model,
                    ", load: 500ms, timeout: 5s}\n");
  }
  return text.empty() ? text : "adapters:\n" + text;
}

std::string TenantsText(Choices& choices) {
  if (choices.OneIn(2)) return "";
  std::string text = "tenants:\n";
  for (uint64_t i = 0; i < 3; ++i) {
    if (i > 0 && choices.OneIn(3)) continue;
    absl::StrAppend(&text, "  - {name: team", i, ", keys: [secret-key-of-team-", i,
                    "], weight: ", 1 + choices.Below(4));
    if (choices.OneIn(3)) absl::StrAppend(&text, ", max_concurrent: ", 1 + choices.Below(6));
    if (choices.OneIn(3)) absl::StrAppend(&text, ", tokens_per_minute: ", 1000 * (1 + choices.Below(40)));
    text += "}\n";
  }
  return text;
}

}  // namespace

std::string DrawConfigText(Choices& choices) {
  static constexpr const char* kFairness[] = {"none", "leads", "weighted"};
  std::string replicas = "replicas:\n";
  const bool paired = choices.OneIn(2);
  const uint64_t from = paired ? 0 : choices.Below(3);
  for (uint64_t i = from; i < kMostReplicas; ++i) {
    if (i == from || (paired && i == 1) || !choices.OneIn(3)) replicas += ReplicaText(choices, i, paired);
  }
  std::string text = GpusText(choices) + ClassesText(choices) + AdaptersText(choices, replicas) + TenantsText(choices);
  absl::StrAppend(&text, "fairness: ", kFairness[choices.Below(3)], "\n");
  if (choices.OneIn(3)) absl::StrAppend(&text, "limits: {max_queued_requests: ", 1 + choices.Below(40), "}\n");
  return text + replicas;
}

std::string CalmConfigText() {
  std::string text = "replicas:\n";
  for (uint64_t i = 0; i < std::size(kModels); ++i) {
    absl::StrAppend(&text, "  - {id: calm", i, ", url: 'http://calm:", i + 1, "', model: ", kModels[i],
                    ", kv_memory: 20GB}\n");
  }
  return text;
}

Discovery DrawDiscovery(Choices& choices, const FleetBook& book, ReplicaId replica) {
  static constexpr EngineKind kKinds[] = {EngineKind::kVllm, EngineKind::kVllm, EngineKind::kSglang,
                                          EngineKind::kLlamaCpp};
  Discovery found;
  found.kind = kKinds[choices.Below(std::size(kKinds))];
  const std::string configured = book.replica_config(replica).model;
  const std::string model =
      configured.empty() || choices.OneIn(6) ? kModels[choices.Below(std::size(kModels))] : configured;
  found.models = {{model, Tokens(choices.OneIn(4) ? 0 : 1000 + static_cast<int64_t>(choices.Below(8000)))}};
  for (const char* adapter : kAdapters) {
    if (choices.OneIn(4)) found.models.push_back({adapter, found.models[0].max_context, model, "/a/"});
  }
  if (choices.OneIn(3)) found.kv_tokens = Tokens(500 + static_cast<int64_t>(choices.Below(50'000)));
  if (choices.OneIn(2)) found.max_sequences = 1 + static_cast<int>(choices.Below(32));
  if (choices.OneIn(6) && found.kind == EngineKind::kVllm) {
    for (int rank = 0; rank < 2; ++rank) found.ranks.push_back({rank, Tokens(5000)});
    found.kv_tokens = Tokens(10'000);
  }
  found.overflow_fatal = found.kind == EngineKind::kLlamaCpp && choices.OneIn(2);
  found.sleep_verbs_off = choices.OneIn(6);
  return found;
}

}  // namespace penstock::testing
