#include "router/http/peer/forwarded_for.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace penstock {
namespace ip = boost::asio::ip;

namespace {

constexpr absl::string_view kName = "x-forwarded-for";

AddressBytes BytesOf(const ip::address& address) {
  if (address.is_v6()) return address.to_v6().to_bytes();
  return ip::make_address_v6(ip::v4_mapped, address.to_v4()).to_bytes();
}

// "192.0.2.1", "2001:db8::1", "[2001:db8::1]", and each but the second with a port.
std::optional<ip::address> ReadAddress(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (absl::StartsWith(text, "[")) {
    const size_t end = text.find(']');
    if (end == absl::string_view::npos) return std::nullopt;
    text = text.substr(1, end - 1);
  } else if (const size_t colon = text.find(':'); colon == text.rfind(':')) {
    text = text.substr(0, colon);
  }
  if (absl::StrContains(text, '%')) return std::nullopt;
  boost::system::error_code bad;
  ip::address address = ip::make_address(std::string(text), bad);
  if (bad || address.is_unspecified()) return std::nullopt;
  return address;
}

}  // namespace

bool Trusts(const TrustedProxies& proxies, const ip::address& proxy) {
  return proxy.is_unspecified() ? proxies.TrustUnix() : proxies.Trust(BytesOf(proxy));
}

ip::address ClientAddress(const TrustedProxies& proxies, const ip::address& connection, const HeaderList& headers) {
  ip::address client = connection;
  if (proxies.empty()) return client;
  for (size_t i = headers.size(); i > 0; --i) {
    const auto [name, value] = headers[i - 1];
    if (!absl::EqualsIgnoreCase(name, kName)) continue;
    absl::string_view left = value;
    while (!left.empty()) {
      if (!Trusts(proxies, client)) return client;
      const size_t comma = left.rfind(',');
      const std::optional<ip::address> named =
          ReadAddress(comma == absl::string_view::npos ? left : left.substr(comma + 1));
      if (!named) return client;
      client = *named;
      left = comma == absl::string_view::npos ? absl::string_view() : left.substr(0, comma);
    }
  }
  return client;
}

}  // namespace penstock
