#include "config/text/address_range.h"

#include <arpa/inet.h>

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

constexpr int kMappedBits = 96;

struct OneAddress {
  AddressBytes bytes{};
  bool four = false;
};

std::optional<OneAddress> ParseAddress(const std::string& text) {
  OneAddress address;
  if (inet_pton(AF_INET6, text.c_str(), address.bytes.data()) == 1) return address;
  address.bytes = {};
  address.bytes[10] = address.bytes[11] = 0xff;
  address.four = inet_pton(AF_INET, text.c_str(), address.bytes.data() + 12) == 1;
  if (!address.four) return std::nullopt;
  return address;
}

// The bits of byte `at` that belong to a prefix.
uint8_t MaskOf(int bits, size_t at) {
  const int left = std::clamp(bits - 8 * static_cast<int>(at), 0, 8);
  return static_cast<uint8_t>(0xff00 >> left);
}

absl::Status BadRange(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" ", why));
}

}  // namespace

bool AddressRange::Holds(const AddressBytes& address) const {
  for (size_t i = 0; i < address.size(); ++i) {
    if (((address[i] ^ first[i]) & MaskOf(bits, i)) != 0) return false;
  }
  return true;
}

absl::StatusOr<AddressRange> ParseAddressRange(absl::string_view text) {
  const size_t slash = text.find('/');
  const std::optional<OneAddress> address = ParseAddress(std::string(text.substr(0, slash)));
  if (!address) return BadRange(text, "is not an IP address or a range such as 10.0.0.0/8");
  AddressRange range{address->bytes, 128};
  if (slash == absl::string_view::npos) return range;
  const int most = address->four ? 32 : 128;
  int bits = 0;
  if (!absl::SimpleAtoi(text.substr(slash + 1), &bits) || bits < 0 || bits > most) {
    return BadRange(text, absl::StrCat("needs a prefix of 0 to ", most, " bits"));
  }
  range.bits = address->four ? kMappedBits + bits : bits;
  for (size_t i = 0; i < range.first.size(); ++i) {
    if ((range.first[i] & ~MaskOf(range.bits, i)) != 0) return BadRange(text, "has bits behind its prefix");
  }
  return range;
}

}  // namespace penstock
