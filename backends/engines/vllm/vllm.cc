#include "backends/engines/vllm/vllm.h"

#include "backends/engines/contract/openai_limits.h"
#include "backends/engines/contract/served_models.h"
#include "backends/engines/vllm/vllm_facts.h"
#include "backends/engines/vllm/vllm_sleep.h"

namespace penstock {
namespace {

constexpr char kRestPath[] = "/is_sleeping";
constexpr char kInfoPath[] = "/server_info?config_format=json";

constexpr Sign kSigns[] = {{"/metrics", LooksLikeVllm}};

// vLLM serves without its version and without metrics (--disable-log-stats).
constexpr DiscoveryPage kDiscovery[] = {
    {kModelsPath, Need::kRequired, ReadServedModels},
    {"/version", Need::kOptional, ReadVllmVersion},
    {"/metrics", Need::kOptional, ReadVllmCapacity},
    {kRestPath, Need::kOptional, ReadVllmVerbs, nullptr, NoteVllmWithoutVerbs},
    {kInfoPath, Need::kOptional, ReadVllmScheduler},
};

constexpr PollPage kPoll[] = {{"/metrics", Need::kOptional, ReadVllmLoad}};

constexpr EndpointSet kEndpoints = {Endpoint::kChat,           Endpoint::kCompletions,  Endpoint::kEmbeddings,
                                    Endpoint::kResponses,      Endpoint::kRerank,       Endpoint::kScore,
                                    Endpoint::kPooling,        Endpoint::kClassify,     Endpoint::kTokenize,
                                    Endpoint::kDetokenize,     Endpoint::kMessages,     Endpoint::kCountTokens,
                                    Endpoint::kTranscriptions, Endpoint::kTranslations, Endpoint::kSpeech,
                                    Endpoint::kImages,         Endpoint::kImageEdits,   Endpoint::kRealtime};

bool HasVerbs(const Discovery& found) { return !found.sleep_verbs_off; }

constexpr SleepVerbs kSleep = {
    .sleep = VllmSleep,
    .wake = VllmWake,
    .page = kRestPath,
    .read = ReadVllmRest,
    .on_host = true,
    .levels = true,
    .has = HasVerbs,
    .advice = "start vLLM with VLLM_SERVER_DEV_MODE=1 and --enable-sleep-mode",
};

VerbRequest LoadVllmAdapter(const std::string& name, const std::string& path) {
  return LoadLora("/v1/load_lora_adapter", name, path);
}
VerbRequest UnloadVllmAdapter(const std::string& name) { return UnloadLora("/v1/unload_lora_adapter", name); }

}  // namespace

constinit const EngineDeclaration kVllmEngine = {
    .kind = EngineKind::kVllm,
    .name = "vllm",
    .owner = "vllm",
    .capabilities = {.endpoints = kEndpoints,
                     .abort_memory_hold = Duration::Milliseconds(50),
                     .output_limits = kOpenAiLimits,
                     .names_responses = true,
                     .hands_over = true,
                     .text_count = {"/tokenize", AskVllmCount, ReadVllmCount, /*requests=*/true},
                     .rank_header = "X-data-parallel-rank"},
    .defaults = {.keeps_prefixes = true},
    .signs = kSigns,
    .discovery_pages = kDiscovery,
    .poll_pages = kPoll,
    .alive_path = "/health",
    .sleep_verbs = kSleep,
    .adapter_verbs = {LoadVllmAdapter, UnloadVllmAdapter},
};

}  // namespace penstock
