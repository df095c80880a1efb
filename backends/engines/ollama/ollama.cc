#include "backends/engines/ollama/ollama.h"

#include "absl/strings/match.h"
#include "backends/engines/ollama/ollama_facts.h"

namespace penstock {
namespace {

constexpr char kLoadedPath[] = "/api/ps";
constexpr char kVersionPath[] = "/api/version";

// A router that speaks Ollama's dialect to its clients is no Ollama.
bool HasVersion(absl::string_view body) {
  if (absl::StrContains(body, "\"penstock\"")) return false;
  Discovery found;
  return ReadOllamaVersion(body, &found).ok() && !found.version.empty();
}

constexpr Sign kSigns[] = {{kVersionPath, HasVersion}};

constexpr DiscoveryPage kDiscovery[] = {
    {kVersionPath, Need::kRequired, ReadOllamaVersion},
    {"/api/tags", Need::kRequired, ReadOllamaTags},
    {kLoadedPath, Need::kOptional, ReadOllamaLoaded},
};

// max_completion_tokens of a chat is ignored.
constexpr OutputLimit kLimits[] = {
    {"max_tokens", Endpoint::kChat},
    {"max_tokens", Endpoint::kCompletions, 0},
    {"max_output_tokens", Endpoint::kResponses},
    {"max_tokens", Endpoint::kMessages},
};

constexpr PollPage kPoll[] = {{kVersionPath, Need::kRequired}};

constexpr EndpointSet kEndpoints = {Endpoint::kChat, Endpoint::kCompletions, Endpoint::kEmbeddings,
                                    Endpoint::kResponses, Endpoint::kMessages};

constexpr SleepVerbs kSleep = {
    .sleep = OllamaSleep,
    .wake = OllamaWake,
    .page = kLoadedPath,
    .read = ReadOllamaRest,
    .per_model = true,
    .ends_later = true,
};

}  // namespace

constinit const EngineDeclaration kOllamaEngine = {
    .kind = EngineKind::kOllama,
    .name = "ollama",
    .capabilities = {.continues_final_message = false,
                     .continues_prompts = false,
                     .latest_tag = true,
                     .endpoints = kEndpoints,
                     .abort_memory_hold = Duration::Milliseconds(100),
                     .output_limits = kLimits},
    .defaults = {.max_sequences = 1},
    .signs = kSigns,
    .discovery_pages = kDiscovery,
    .poll_pages = kPoll,
    .sleep_verbs = kSleep,
};

}  // namespace penstock
