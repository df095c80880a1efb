#include "router/http/peer/proxy_header.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace penstock {
namespace ip = boost::asio::ip;

namespace {

constexpr absl::string_view kSignature1 = "PROXY ";
constexpr absl::string_view kSignature2("\r\n\r\n\0\r\nQUIT\n", 12);
// With its line end.
constexpr size_t kLongestLine = 107;
constexpr size_t kFixedPart = 16;

// Version 2: the version and the command, then the family and the protocol.
constexpr uint8_t kLocal = 0x20;
constexpr uint8_t kProxied = 0x21;
constexpr uint8_t kTcp4 = 0x11;
constexpr uint8_t kTcp6 = 0x21;
constexpr uint8_t kHighestFamily = 0x32;

ProxyHeader Bad(absl::string_view fault) { return {ProxyHeader::State::kBad, 0, std::nullopt, fault}; }

// The signature may still become whole.
bool MayBegin(absl::string_view bytes, absl::string_view signature) {
  return absl::StartsWith(signature, bytes.substr(0, signature.size()));
}

bool IsPort(absl::string_view text) {
  uint32_t port = 0;
  const bool digits = !text.empty() && text.size() <= 5 && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
  return digits && absl::SimpleAtoi(text, &port) && port <= 65'535;
}

std::optional<ip::address> AddressOfFamily(absl::string_view text, bool six) {
  boost::system::error_code bad;
  ip::address address = ip::make_address(std::string(text), bad);
  if (bad || address.is_v6() != six || absl::StrContains(text, '%')) return std::nullopt;
  return address;
}

ProxyHeader ReadLine(absl::string_view bytes) {
  const size_t end = bytes.substr(0, kLongestLine).find("\r\n");
  if (end == absl::string_view::npos) {
    return bytes.size() < kLongestLine ? ProxyHeader() : Bad("the line is longer than 107 bytes");
  }
  ProxyHeader header{ProxyHeader::State::kDone, end + 2, std::nullopt, ""};
  const absl::string_view line = absl::StripPrefix(bytes.substr(0, end), kSignature1);
  if (line == "UNKNOWN" || absl::StartsWith(line, "UNKNOWN ")) return header;
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  const bool six = words[0] == "TCP6";
  if (!six && words[0] != "TCP4") return Bad("the protocol is not TCP4, TCP6 or UNKNOWN");
  if (words.size() != 5) return Bad("the line needs two addresses and two ports");
  header.client = AddressOfFamily(words[1], six);
  if (!header.client || !AddressOfFamily(words[2], six)) return Bad("an address is not one of its protocol");
  if (!IsPort(words[3]) || !IsPort(words[4])) return Bad("a port is not a number up to 65535");
  return header;
}

template <class Bytes>
Bytes AddressAt(absl::string_view bytes, size_t at) {
  Bytes address;
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), address.size(), address.begin());
  return address;
}

ProxyHeader ReadBinary(absl::string_view bytes) {
  if (bytes.size() < kFixedPart) return {};
  const auto byte = [bytes](size_t at) { return static_cast<uint8_t>(bytes[at]); };
  const size_t length = size_t{byte(14)} << 8 | byte(15);
  const uint8_t family = byte(13);
  if (byte(12) != kLocal && byte(12) != kProxied) return Bad("the version or the command is unknown");
  if (family > kHighestFamily || (family & 0xf) > 2) return Bad("the family or the protocol is unknown");
  if (kFixedPart + length > ProxyHeader::kMaxBytes) return Bad("the header is longer than 4096 bytes");
  const bool named = byte(12) == kProxied && (family == kTcp4 || family == kTcp6);
  const size_t addresses = family == kTcp4 ? 12 : 36;
  if (named && length < addresses) return Bad("the header is too short for its addresses");
  if (bytes.size() < kFixedPart + length) return {};
  ProxyHeader header{ProxyHeader::State::kDone, kFixedPart + length, std::nullopt, ""};
  if (named && family == kTcp4)
    header.client = ip::address_v4(AddressAt<ip::address_v4::bytes_type>(bytes, kFixedPart));
  if (named && family == kTcp6)
    header.client = ip::address_v6(AddressAt<ip::address_v6::bytes_type>(bytes, kFixedPart));
  return header;
}

// A client never has the unspecified address. A mapped address becomes that of IPv4, so that a client has one name.
ProxyHeader WithClientAddress(ProxyHeader header) {
  if (!header.client) return header;
  if (header.client->is_unspecified()) return Bad("the address of the client is unspecified");
  if (header.client->is_v6() && header.client->to_v6().is_v4_mapped()) {
    header.client = ip::make_address_v4(ip::v4_mapped, header.client->to_v6());
  }
  return header;
}

}  // namespace

ProxyHeader ReadProxyHeader(absl::string_view bytes) {
  if (absl::StartsWith(bytes, kSignature1)) return WithClientAddress(ReadLine(bytes));
  if (absl::StartsWith(bytes, kSignature2)) return WithClientAddress(ReadBinary(bytes));
  if (MayBegin(bytes, kSignature1) || MayBegin(bytes, kSignature2)) return {};
  return Bad("there is none");
}

}  // namespace penstock
