#include "backends/engines/llamacpp/llamacpp.h"

#include "backends/engines/contract/served_models.h"
#include "backends/engines/llamacpp/llamacpp_facts.h"

namespace penstock {
namespace {

constexpr char kPropsPath[] = "/props";

bool IsProps(absl::string_view body) {
  Discovery ignored;
  return ReadLlamaProps(body, &ignored).ok();
}

bool RoutesOnly(const Discovery& found, const Observation&) { return found.process_per_model; }
bool HasLoad(const Discovery& found, const Observation&) { return !found.process_per_model; }
bool MetricsAreOff(const Discovery& found, const Observation& seen) {
  return !found.process_per_model && seen.running < 0;
}
bool MayRun(const Discovery& found, const Observation& seen) { return !found.process_per_model && seen.running != 0; }

constexpr Sign kSigns[] = {{kPropsPath, IsProps}};

constexpr DiscoveryPage kDiscovery[] = {
    {kPropsPath, Need::kRequired, ReadLlamaProps},
    {kModelsPath, Need::kRequired, ReadServedModels},
};

// Its own n_predict counts at every endpoint. A chat and a response become the native request of the server, which
// still has the client's other fields.
constexpr OutputLimit kLimits[] = {
    {"max_tokens", Endpoint::kChat, 1, -1},
    {"max_completion_tokens", Endpoint::kChat, 1, -1},
    {"n_predict", Endpoint::kChat, 0, -1},
    {"max_tokens", Endpoint::kCompletions, 0, -1},
    {"max_completion_tokens", Endpoint::kCompletions, 0, -1},
    {"n_predict", Endpoint::kCompletions, 0, -1},
    {"max_output_tokens", Endpoint::kResponses},
    {"max_tokens", Endpoint::kResponses},
    {"max_completion_tokens", Endpoint::kResponses},
    {"n_predict", Endpoint::kResponses, 0, -1},
    {"max_tokens", Endpoint::kMessages},
};

constexpr PollPage kPoll[] = {
    {"/health", Need::kRequired, nullptr, RoutesOnly},
    {"/metrics", Need::kOptional, ReadLlamaMetrics, HasLoad, /*ask_once_when_refused=*/true},
    {kPropsPath, Need::kRequired, ReadLlamaSleep, MetricsAreOff},
    {"/slots", Need::kOptional, ReadLlamaSlots, MayRun, /*ask_once_when_refused=*/true},
};

constexpr EndpointSet kEndpoints = {Endpoint::kChat,       Endpoint::kCompletions, Endpoint::kEmbeddings,
                                    Endpoint::kResponses,  Endpoint::kRerank,      Endpoint::kTokenize,
                                    Endpoint::kDetokenize, Endpoint::kMessages,    Endpoint::kCountTokens};

bool HasVerbs(const Discovery& found) { return found.process_per_model; }

constexpr SleepVerbs kSleep = {
    .sleep = LlamaUnload,
    .wake = LlamaLoad,
    .page = "/models",
    .read = ReadLlamaRest,
    .per_model = true,
    .ends_later = true,
    .has = HasVerbs,
    .advice = "start llama-server without a model, so that it loads and unloads the models of --models-dir",
};

}  // namespace

constinit const EngineDeclaration kLlamaCppEngine = {
    .kind = EngineKind::kLlamaCpp,
    .name = "llamacpp",
    .owner = "llamacpp",
    .capabilities = {.stream_everything = true,
                     .closes_after_stream = true,
                     .continues_messages = true,
                     .endpoints = kEndpoints,
                     .idle_limit = Duration::Seconds(4),  // The server closes at 5 s.
                     // A stream ends within a step of its next event. A step of many sequences takes tens of
                     // milliseconds.
                     .abort_memory_hold = Duration::Milliseconds(100),
                     .output_limits = kLimits},
    .defaults = {.block = Tokens(1), .max_sequences = 4, .overflow_fatal = true},
    .overflow_message = "Context size has been exceeded",
    .signs = kSigns,
    .discovery_pages = kDiscovery,
    .poll_pages = kPoll,
    .alive_path = "/health",
    .sleep_verbs = kSleep,
};

}  // namespace penstock
