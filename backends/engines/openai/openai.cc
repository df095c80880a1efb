#include "backends/engines/openai/openai.h"

#include "backends/engines/contract/openai_limits.h"
#include "backends/engines/contract/served_models.h"

namespace penstock {
namespace {

constexpr DiscoveryPage kDiscovery[] = {{kModelsPath, Need::kRequired, ReadServedModels}};

// They name a project, a beta or a page, and are no credentials.
constexpr absl::string_view kHeaders[] = {"http-referer", "openai-beta", "openai-project", "openai-organization",
                                          "x-title"};

constexpr PollPage kPoll[] = {{kModelsPath, Need::kOptional}};

}  // namespace

// The endpoints of an unknown server are unknown: its own 404 is the right answer.
constinit const EngineDeclaration kOpenAiEngine = {
    .kind = EngineKind::kOpenAi,
    .name = "openai",
    .capabilities = {.continues_final_message = false,
                     .endpoints = EndpointSet::All(),
                     .abort_memory_hold = Duration::Seconds(1),
                     .output_limits = kOpenAiLimits,
                     .request_headers = kHeaders},
    .discovery_pages = kDiscovery,
    .poll_pages = kPoll,
};

}  // namespace penstock
