#include "config/text/addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/text/address_range.h"
#include "config/text/request_path.h"

namespace penstock {
namespace {

// The system's limit.
constexpr size_t kLongestSocketPath = 107;

// The text without a user, a password and a query: messages go to the log.
std::string WithoutSecrets(absl::string_view text) {
  const size_t scheme = text.find("://");
  const size_t begin = scheme == absl::string_view::npos ? 0 : scheme + 3;
  const size_t at = text.rfind('@');
  const bool has_user = at != absl::string_view::npos && at >= begin;
  const absl::string_view rest = has_user ? text.substr(at) : text;
  const size_t query = rest.find_first_of("?#");
  return absl::StrCat(has_user ? text.substr(0, begin) : "", has_user ? "..." : "", rest.substr(0, query),
                      query == absl::string_view::npos ? "" : "?...");
}

constexpr size_t kLongestName = 254;  // Of a host, in text with its last dot: RFC 1035, section 2.3.4.

absl::Status Bad(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("\"", WithoutSecrets(text), "\" ", why));
}

bool IsHostCharacter(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return absl::ascii_isalnum(byte) || c == '.' || c == '-' || c == '_';
}

bool IsAddress6Character(char c) {
  return absl::ascii_isxdigit(static_cast<unsigned char>(c)) || c == ':' || c == '.' || c == '%';
}

// Splits at the colon that is not inside brackets. `port` is empty when there is none.
absl::Status SplitHost(absl::string_view text, absl::string_view authority, std::string& host,
                       absl::string_view& port) {
  absl::string_view rest = authority;
  if (absl::ConsumePrefix(&rest, "[")) {
    const size_t end = rest.find(']');
    if (end == absl::string_view::npos) return Bad(text, "lacks the ] of an IPv6 address");
    host = std::string(rest.substr(0, end));
    if (host.find(':') == std::string::npos || !std::all_of(host.begin(), host.end(), IsAddress6Character)) {
      return Bad(text, "has no IPv6 address in its brackets");
    }
    rest.remove_prefix(end + 1);
    if (!rest.empty() && !absl::ConsumePrefix(&rest, ":")) return Bad(text, "has text between ] and the port");
    port = rest;
    return absl::OkStatus();
  }
  const size_t colon = rest.find(':');
  host = std::string(rest.substr(0, colon));
  if (host.size() > kLongestName)
    return Bad(text, absl::StrCat("has a host of more than ", kLongestName, " characters"));
  port = colon == absl::string_view::npos ? absl::string_view() : rest.substr(colon + 1);
  if (port.find(':') != absl::string_view::npos) return Bad(text, "needs brackets around an IPv6 address");
  if (!std::all_of(host.begin(), host.end(), IsHostCharacter)) return Bad(text, "has a host with odd characters");
  return absl::OkStatus();
}

absl::StatusOr<uint16_t> ParsePort(absl::string_view text, absl::string_view digits, uint32_t lowest) {
  uint32_t port = 0;
  const bool only_digits = std::all_of(digits.begin(), digits.end(),
                                       [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
  if (!only_digits || !absl::SimpleAtoi(digits, &port) || port < lowest || port > 65'535) {
    return Bad(text, absl::StrCat("needs a port of ", lowest, " to 65535"));
  }
  return static_cast<uint16_t>(port);
}

absl::string_view BasePath(absl::string_view path) {
  const auto trim = [&path] {
    while (absl::ConsumeSuffix(&path, "/")) continue;
  };
  trim();
  if (absl::ConsumeSuffix(&path, "/v1")) trim();
  return path;
}

absl::StatusOr<std::string> ParseSocketPath(absl::string_view text, absl::string_view path) {
  // unix:///path is the same.
  if (absl::StartsWith(path, "///")) path.remove_prefix(2);
  if (!absl::StartsWith(path, "/") || absl::StartsWith(path, "//"))
    return Bad(text, "needs an absolute path: unix:/path");
  if (path.size() > kLongestSocketPath) {
    return Bad(text, absl::StrCat("has a path of more than ", kLongestSocketPath, " bytes"));
  }
  return std::string(path);
}

absl::StatusOr<EngineUrl> ParseSocketUrl(absl::string_view text, absl::string_view path) {
  absl::StatusOr<std::string> socket_path = ParseSocketPath(text, path);
  if (!socket_path.ok()) return socket_path.status();
  EngineUrl url;
  url.address = {"localhost", 80};
  url.socket_path = *std::move(socket_path);
  return url;
}

// One spelling for each host. "127.1" and "0x7f000001" are addresses for the system, and "localhost." is a name.
std::string UsualHost(absl::string_view host) {
  absl::ConsumeSuffix(&host, ".");
  std::string usual = absl::AsciiStrToLower(host);
  in_addr address = {};
  char parts[INET_ADDRSTRLEN];
  if (::inet_aton(usual.c_str(), &address) != 0 && ::inet_ntop(AF_INET, &address, parts, sizeof parts)) usual = parts;
  return usual;
}

bool IsLoopbackOrAny(absl::string_view any_spelling) {
  const std::string host = UsualHost(any_spelling);
  if (host.empty() || host == "localhost") return true;
  const absl::StatusOr<AddressRange> address = ParseAddressRange(host);
  if (!address.ok()) return false;
  return std::ranges::any_of(std::initializer_list<absl::string_view>{"127.0.0.0/8", "0.0.0.0", "::1", "::"},
                             [&](absl::string_view own) { return ParseAddressRange(own)->Holds(address->first); });
}

bool IsSameHost(absl::string_view a, absl::string_view b) {
  const std::string first_host = UsualHost(a);
  const std::string second_host = UsualHost(b);
  if (first_host == second_host) return true;
  const absl::StatusOr<AddressRange> first = ParseAddressRange(first_host);
  const absl::StatusOr<AddressRange> second = ParseAddressRange(second_host);
  return first.ok() && second.ok() && *first == *second;
}

// The address of a host that needs no look-up.
std::optional<AddressBytes> AddressOf(absl::string_view any_spelling) {
  const std::string host = UsualHost(any_spelling);
  const absl::StatusOr<AddressRange> address = ParseAddressRange(host == "localhost" ? "127.0.0.1" : host);
  if (!address.ok()) return std::nullopt;
  return address->first;
}

// `any` means every address of IPv4, or every address of IPv4 and IPv6, and `other` is one of them.
bool Covers(const std::string& any, const std::string& other) {
  const bool four = any.empty() || UsualHost(any) == "0.0.0.0";
  if (!four) return IsSameHost(any, "::");
  const std::optional<AddressBytes> address = AddressOf(other);
  return other.empty() || (address && ParseAddressRange("0.0.0.0/0")->Holds(*address));
}

bool IsLocalhost(const std::string& name, const std::string& other) {
  return UsualHost(name) == "localhost" && (IsSameHost(other, "127.0.0.1") || IsSameHost(other, "::1"));
}

// Without "/./" and "//". The system alone knows the end of "/../".
std::string PlainPath(absl::string_view path) {
  std::string plain;
  for (const absl::string_view name : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    if (name != ".") absl::StrAppend(&plain, "/", name);
  }
  return plain;
}

bool IsBarePort(absl::string_view text) {
  uint32_t port = 0;
  return absl::SimpleAtoi(text, &port) && port <= 65'535;
}

// The URL that is meant by a text without a scheme, as a question; empty where it is no address either.
std::string MeantUrl(absl::string_view text) {
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "/") || absl::StrContains(rest, "://")) return "";
  std::string host;
  absl::string_view port;
  const bool address = SplitHost(text, rest.substr(0, rest.find('/')), host, port).ok();
  const bool known = !port.empty() || host.find('.') != std::string::npos || host == "localhost";
  return address && known && !host.empty() ? absl::StrCat("; did you mean http://", WithoutSecrets(text), "?") : "";
}

}  // namespace

absl::StatusOr<HostPort> ParseHostPort(absl::string_view text) {
  HostPort parsed;
  if (IsBarePort(text)) {
    return Bad(text, absl::StrCat("is a port without an address; give 127.0.0.1:", text, " for this machine only, or ",
                                  "0.0.0.0:", text, " for every interface"));
  }
  absl::string_view digits;
  if (absl::Status split = SplitHost(text, text, parsed.host, digits); !split.ok()) return split;
  const absl::StatusOr<uint16_t> port = ParsePort(text, digits, 0);
  if (!port.ok()) return port.status();
  parsed.port = *port;
  return parsed;
}

absl::StatusOr<ListenAddress> ParseListen(absl::string_view text) {
  ListenAddress address;
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "unix:")) {
    absl::StatusOr<std::string> path = ParseSocketPath(text, rest);
    if (!path.ok()) return path.status();
    address.socket_path = *std::move(path);
    return address;
  }
  absl::StatusOr<HostPort> tcp = ParseHostPort(text);
  if (!tcp.ok()) return tcp.status();
  address.tcp = *std::move(tcp);
  return address;
}

absl::StatusOr<EngineUrl> ParseEngineUrl(absl::string_view text) {
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "unix:")) return ParseSocketUrl(text, rest);
  EngineUrl url;
  url.tls = absl::StartsWithIgnoreCase(rest, "https://");
  if (!url.tls && !absl::StartsWithIgnoreCase(rest, "http://")) {
    return Bad(text, absl::StrCat("is not a URL of the form http://host:port, https://host:port or unix:/path",
                                  MeantUrl(text)));
  }
  rest.remove_prefix(url.tls ? 8 : 7);
  const size_t slash = rest.find_first_of("/?#");
  const absl::string_view authority = rest.substr(0, slash);
  if (authority.empty() || authority.front() == ':') return Bad(text, "has no host");
  const absl::string_view path = slash == absl::string_view::npos ? absl::string_view() : rest.substr(slash);
  if (authority.find('@') != absl::string_view::npos)
    return Bad(text, "has a user name; put the engine's key into key");
  if (path.find_first_of("?# ") != absl::string_view::npos) return Bad(text, "has a query, fragment or space");
  if (const absl::string_view request = RequestPath(path); !request.empty())
    return Bad(text, absl::StrCat("ends in the path of a request: leave ", request, " out"));
  absl::string_view digits;
  if (absl::Status split = SplitHost(text, authority, url.address.host, digits); !split.ok()) return split;
  url.address.port = url.tls ? 443 : 80;
  const bool names_port = !authority.empty() && (!digits.empty() || authority.back() == ':');
  if (names_port) {
    const absl::StatusOr<uint16_t> port = ParsePort(text, digits, 1);
    if (!port.ok()) return port.status();
    url.address.port = *port;
  }
  url.base_path = std::string(BasePath(path));
  return url;
}

std::string HostPort::Text() const {
  const bool six = host.find(':') != std::string::npos;
  return six ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
}

std::string ListenAddress::Text() const {
  return socket_path.empty() ? tcp.Text() : absl::StrCat("unix:", socket_path);
}

std::string EngineUrl::Name() const {
  return socket_path.empty() ? address.Text() : absl::StrCat("unix:", socket_path);
}

std::string EngineUrl::Key() const {
  if (!socket_path.empty()) return absl::StrCat("unix:", PlainPath(socket_path), base_path);
  const bool any = IsSameHost(address.host, "0.0.0.0") || IsSameHost(address.host, "::");
  const std::optional<AddressBytes> bytes = AddressOf(any ? "localhost" : address.host);
  const std::string host =
      bytes ? absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size()))
            : UsualHost(address.host);
  return absl::StrCat(host, ":", address.port, base_path);
}

bool EngineUrl::IsLoopback() const {
  const std::string host = UsualHost(address.host);
  return host == "localhost" || IsSameHost(host, "::1") || absl::StartsWith(host, "127.");
}

bool Reaches(const EngineUrl& url, const ListenAddress& listener) {
  if (!url.socket_path.empty() || !listener.socket_path.empty())
    return PlainPath(url.socket_path) == PlainPath(listener.socket_path);
  if (url.address.port != listener.tcp.port) return false;
  return IsSameHost(url.address.host, listener.tcp.host) ||
         (IsLoopbackOrAny(url.address.host) && IsLoopbackOrAny(listener.tcp.host));
}

bool Collide(const ListenAddress& a, const ListenAddress& b) {
  if (!a.socket_path.empty() || !b.socket_path.empty()) return PlainPath(a.socket_path) == PlainPath(b.socket_path);
  if (a.tcp.port != b.tcp.port || a.tcp.port == 0) return false;
  const std::string& first = a.tcp.host;
  const std::string& second = b.tcp.host;
  return IsSameHost(first, second) || IsLocalhost(first, second) || IsLocalhost(second, first) ||
         Covers(first, second) || Covers(second, first);
}

}  // namespace penstock
