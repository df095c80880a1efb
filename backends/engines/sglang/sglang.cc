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

}  // namespace

constinit const EngineDeclaration kSglangEngine = {
    .kind = EngineKind::kSglang,
    .name = "sglang",
    .owner = "sglang",
    .capabilities = {.supports_responses = true,
                     .supports_rerank = true,
                     .abort_memory_hold = Duration::Seconds(4),
                     .output_limits = kOpenAiLimits},
    .defaults = {.keeps_prefixes = true},
    .signs = kSigns,
    .discovery_pages = kDiscovery,
    .poll_pages = kPoll,
};

}  // namespace penstock
