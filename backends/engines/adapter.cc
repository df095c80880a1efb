#include "backends/engines/adapter.h"

#include "backends/dialect/models_list.h"
#include "backends/engines/llamacpp/llamacpp_adapter.h"
#include "backends/engines/llamacpp/llamacpp_facts.h"
#include "backends/engines/ollama/ollama_adapter.h"
#include "backends/engines/ollama/ollama_facts.h"
#include "backends/engines/openai/openai_adapter.h"
#include "backends/engines/sglang/sglang_adapter.h"
#include "backends/engines/sglang/sglang_facts.h"
#include "backends/engines/tgi/tgi_adapter.h"
#include "backends/engines/tgi/tgi_facts.h"
#include "backends/engines/vllm/vllm_adapter.h"
#include "backends/engines/vllm/vllm_facts.h"
#include "backends/transport/fetch.h"

namespace penstock {
namespace {

struct Sign {
  const char* path;
  EngineKind kind;
  bool (*matches)(absl::string_view body);
};

// In this order: SGLang also answers some of Ollama's routes.
constexpr Sign kSigns[] = {
    {"/metrics", EngineKind::kVllm, [](absl::string_view body) { return LooksLikeVllm(body); }},
    {"/props", EngineKind::kLlamaCpp, [](absl::string_view body) { return ParseLlamaProps(body).ok(); }},
    {"/server_info", EngineKind::kSglang, [](absl::string_view body) { return ParseSglangServerInfo(body).ok(); }},
    {"/get_server_info", EngineKind::kSglang, [](absl::string_view body) { return ParseSglangServerInfo(body).ok(); }},
    {"/info", EngineKind::kTgi, [](absl::string_view body) { return ParseTgiInfo(body).ok(); }},
    {"/api/version", EngineKind::kOllama, [](absl::string_view body) { return !ParseOllamaVersion(body).empty(); }},
};

}  // namespace

std::unique_ptr<EngineAdapter> MakeAdapter(EngineKind kind) {
  switch (kind) {
    case EngineKind::kVllm:
      return MakeVllmAdapter();
    case EngineKind::kSglang:
      return MakeSglangAdapter();
    case EngineKind::kLlamaCpp:
      return MakeLlamaCppAdapter();
    case EngineKind::kTgi:
      return MakeTgiAdapter();
    case EngineKind::kOllama:
      return MakeOllamaAdapter();
    case EngineKind::kAuto:
    case EngineKind::kOpenAi:
      break;
  }
  return MakeOpenAiAdapter();
}

boost::asio::awaitable<absl::StatusOr<EngineKind>> DetectEngine(UpstreamPool& pool, absl::string_view key) {
  // Three of the engines sign their list of models.
  auto listed = co_await Fetch(pool, "/v1/models", key);
  if (!listed.ok()) co_return listed.status();
  auto models = ParseModelsList(listed->body);
  if (models.ok()) {
    if (auto kind = KindFromOwner(models->owner)) co_return *kind;
  }
  for (const Sign& sign : kSigns) {
    auto answer = co_await Fetch(pool, sign.path, key);
    if (!answer.ok()) co_return answer.status();
    if (answer->ok() && sign.matches(answer->body)) co_return sign.kind;
  }
  co_return EngineKind::kOpenAi;
}

}  // namespace penstock
