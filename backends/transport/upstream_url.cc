#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "backends/transport/upstream.h"
#include "config/text/addresses.h"

namespace penstock {

absl::StatusOr<UpstreamAddress> ParseUpstreamUrl(absl::string_view url) {
  absl::StatusOr<EngineUrl> parsed = ParseEngineUrl(url);
  if (!parsed.ok()) return parsed.status();
  return UpstreamAddress{parsed->address.host, parsed->address.port, parsed->base_path, parsed->tls,
                         parsed->socket_path};
}

std::string HostOf(const UpstreamAddress& address) {
  const bool ipv6 = address.host.find(':') != std::string::npos;
  std::string host = ipv6 ? absl::StrCat("[", address.host, "]") : address.host;
  if (address.port != (address.tls ? 443 : 80)) absl::StrAppend(&host, ":", address.port);
  return host;
}

}  // namespace penstock
