#include "absl/status/statusor.h"
#include "backends/transport/upstream.h"
#include "config/text/addresses.h"

namespace penstock {

absl::StatusOr<UpstreamAddress> ParseUpstreamUrl(absl::string_view url) {
  absl::StatusOr<EngineUrl> parsed = ParseEngineUrl(url);
  if (!parsed.ok()) return parsed.status();
  return UpstreamAddress{parsed->address.host, parsed->address.port, parsed->base_path, parsed->tls,
                         parsed->socket_path};
}

}  // namespace penstock
