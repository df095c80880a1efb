#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "backends/transport/upstream.h"

namespace penstock {
namespace {

absl::Status Bad(absl::string_view url, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("url \"", url, "\": ", why));
}

bool ParsePort(absl::string_view text, uint16_t* port) {
  int number = 0;
  if (text.empty() || !absl::SimpleAtoi(text, &number) || number < 1 || number > 65535) return false;
  *port = static_cast<uint16_t>(number);
  return true;
}

// Accepts "host", "host:port", "[v6]" and "[v6]:port".
bool SplitAuthority(absl::string_view authority, UpstreamAddress* address) {
  size_t host_end = authority.find(':');
  if (absl::ConsumePrefix(&authority, "[")) {
    const size_t bracket = authority.find(']');
    if (bracket == absl::string_view::npos) return false;
    address->host = std::string(authority.substr(0, bracket));
    authority.remove_prefix(bracket + 1);
    host_end = 0;
    if (!authority.empty() && authority[0] != ':') return false;
  } else {
    address->host = std::string(authority.substr(0, host_end));
    authority.remove_prefix(host_end == absl::string_view::npos ? authority.size() : host_end);
  }
  if (authority.empty()) return true;
  return ParsePort(authority.substr(1), &address->port);
}

bool Printable(absl::string_view text) {
  for (char c : text) {
    if (!absl::ascii_isgraph(static_cast<unsigned char>(c))) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<UpstreamAddress> ParseUpstreamUrl(absl::string_view url) {
  absl::string_view rest = url;
  UpstreamAddress address;
  address.tls = absl::StartsWithIgnoreCase(rest, "https://");
  if (!address.tls && !absl::StartsWithIgnoreCase(rest, "http://")) {
    return Bad(url, "must start with http:// or https://");
  }
  if (address.tls) address.port = 443;
  rest.remove_prefix(address.tls ? 8 : 7);
  if (!Printable(rest)) return Bad(url, "contains spaces or control characters");
  if (rest.find_first_of("?#") != absl::string_view::npos) return Bad(url, "has a query or a fragment");
  const size_t slash = rest.find('/');
  const absl::string_view authority = rest.substr(0, slash);
  if (authority.find('@') != absl::string_view::npos) return Bad(url, "has user information; use the key setting");

  if (!SplitAuthority(authority, &address)) return Bad(url, "port must be 1 to 65535");
  if (address.host.empty()) return Bad(url, "has no host");
  if (slash != absl::string_view::npos) {
    absl::string_view path = rest.substr(slash);
    while (absl::ConsumeSuffix(&path, "/")) {
    }
    address.base_path = std::string(path);
  }
  return address;
}

}  // namespace penstock
