#include "backends/engines/sglang/sglang.h"

#include "backends/engines/contract/openai_limits.h"
#include "backends/engines/contract/served_models.h"
#include "backends/engines/sglang/sglang_facts.h"

namespace penstock {
namespace {

constexpr char kInfoPath[] = "/server_info";
constexpr char kOlderInfoPath[] = "/get_server_info";

bool IsServerInfo(absl::string_view body) {
  Discovery ignored;
  return ReadSglangServerInfo(body, &ignored).ok();
}

constexpr Sign kSigns[] = {{kInfoPath, IsServerInfo}, {kOlderInfoPath, IsServerInfo}};

constexpr DiscoveryPage kDiscovery[] = {
    {kModelsPath, Need::kRequired, ReadServedModels},
    {kInfoPath, Need::kRequired, ReadSglangServerInfo, kOlderInfoPath},
};

// Older releases have no /v1/loads.
constexpr PollPage kPoll[] = {{"/v1/loads", Need::kOptional, ReadSglangLoads}};

// Its own /classify takes another body than vLLM's.
constexpr EndpointSet kEndpoints = {Endpoint::kChat,        Endpoint::kCompletions,    Endpoint::kEmbeddings,
                                    Endpoint::kResponses,   Endpoint::kRerank,         Endpoint::kScore,
                                    Endpoint::kTokenize,    Endpoint::kDetokenize,     Endpoint::kMessages,
                                    Endpoint::kCountTokens, Endpoint::kTranscriptions, Endpoint::kImages,
                                    Endpoint::kImageEdits};

bool HasVerbs(const Discovery& found) { return !found.sleep_verbs_off; }

// No page tells whether the memory is released.
constexpr SleepVerbs kSleep = {
    .sleep = SglangSleep,
    .wake = SglangWake,
    .on_host = true,
    .has = HasVerbs,
    .advice = "start SGLang with --enable-memory-saver and --enable-weights-cpu-backup",
};

VerbRequest LoadSglangAdapter(const std::string& name, const std::string& path) {
  return LoadLora("/load_lora_adapter", name, path);
}
VerbRequest UnloadSglangAdapter(const std::string& name) { return UnloadLora("/unload_lora_adapter", name); }

}  // namespace

constinit const EngineDeclaration kSglangEngine = {
    .kind = EngineKind::kSglang,
    .name = "sglang",
    .owner = "sglang",
    .capabilities = {.endpoints = kEndpoints,
                     .abort_memory_hold = Duration::Seconds(4),
                     .output_limits = kOpenAiLimits,
                     .names_responses = true},
    .defaults = {.keeps_prefixes = true},
    .signs = kSigns,
    .discovery_pages = kDiscovery,
    .poll_pages = kPoll,
    .alive_path = kModelsPath,
    .sleep_verbs = kSleep,
    .adapter_verbs = {LoadSglangAdapter, UnloadSglangAdapter},
};

}  // namespace penstock
