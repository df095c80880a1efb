#include "config/clear_text_warnings.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "config/text/addresses.h"

namespace penstock {
namespace {

bool InTheClear(const std::string& address) {
  const absl::StatusOr<EngineUrl> url = ParseEngineUrl(address);
  return url.ok() && !url->tls && !url->IsLoopback();
}

}  // namespace

std::vector<std::string> ClearTextWarnings(const Config& config) {
  constexpr absl::string_view kAdvice = " to another host in the clear; use https:// or a private network";
  std::vector<std::string> warnings;
  for (const ReplicaConfig& replica : config.replicas) {
    if (replica.key.empty() || !InTheClear(replica.url)) continue;
    warnings.push_back(absl::StrCat("replicas: ", replica.id, ": key goes", kAdvice));
  }
  for (const NodeConfig& node : config.nodes) {
    for (const ExporterConfig& exporter : node.exporters) {
      if (exporter.key.empty() || !InTheClear(exporter.url)) continue;
      warnings.push_back(absl::StrCat("nodes: ", node.id, ": the key for ", exporter.url, " goes", kAdvice));
    }
  }
  if (!config.tracing.headers.empty() && InTheClear(config.tracing.endpoint)) {
    warnings.push_back(absl::StrCat("tracing: headers go", kAdvice));
  }
  return warnings;
}

}  // namespace penstock
