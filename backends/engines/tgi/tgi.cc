#include "backends/engines/tgi/tgi.h"

#include "backends/engines/contract/openai_limits.h"
#include "backends/engines/tgi/tgi_facts.h"

namespace penstock {
namespace {

bool IsInfo(absl::string_view body) {
  Discovery ignored;
  return ReadTgiInfo(body, &ignored).ok();
}

constexpr Sign kSigns[] = {{"/info", IsInfo}};

constexpr DiscoveryPage kDiscovery[] = {
    {"/info", Need::kRequired, ReadTgiInfo},
    {"/metrics", Need::kOptional, ReadTgiPool},
};

constexpr PollPage kPoll[] = {{"/metrics", Need::kOptional, ReadTgiLoad}};

}  // namespace

constinit const EngineDeclaration kTgiEngine = {
    .kind = EngineKind::kTgi,
    .name = "tgi",
    .capabilities = {.continues_final_message = false,
                     .endpoints = {Endpoint::kChat, Endpoint::kCompletions},
                     .abort_memory_hold = Duration::Milliseconds(100),
                     .output_limits = kOpenAiLimits},
    .signs = kSigns,
    .discovery_pages = kDiscovery,
    .poll_pages = kPoll,
    .alive_path = "/health",
};

}  // namespace penstock
