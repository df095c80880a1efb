#include "router/fleet/trusted_proxies.h"

#include <algorithm>

#include "config/config.h"

namespace penstock {

TrustedProxies::TrustedProxies(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const absl::StatusOr<AddressRange> range = ParseAddressRange(text);
    if (text == kTrustedUnix) {
      unix_ = true;
    } else if (range.ok()) {
      ranges_.push_back(*range);
    }
  }
}

bool TrustedProxies::Trust(const AddressBytes& address) const {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [&address](const AddressRange& range) { return range.Holds(address); });
}

}  // namespace penstock
