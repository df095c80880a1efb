// Ranges of IP addresses as text: "10.0.0.0/8", "fd00::/8", or one address. Pure; no name is resolved.
#ifndef PENSTOCK_CONFIG_TEXT_ADDRESS_RANGE_H_
#define PENSTOCK_CONFIG_TEXT_ADDRESS_RANGE_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

// An IPv6 address; an IPv4 address is mapped into ::ffff:0:0/96.
using AddressBytes = std::array<uint8_t, 16>;

struct AddressRange {
  AddressBytes first{};
  int bits = 128;  // Leading bits that every address of the range has.

  bool Holds(const AddressBytes& address) const;
  bool operator==(const AddressRange&) const = default;
};

// InvalidArgument names the fault. Bits behind the prefix must be zero.
absl::StatusOr<AddressRange> ParseAddressRange(absl::string_view text);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_TEXT_ADDRESS_RANGE_H_
