#include "backends/transport/known_addresses.h"

#include <algorithm>
#include <utility>

namespace penstock {

void KnownAddresses::OnFound(std::vector<SocketAddress> addresses, Instant now) {
  const int first = addresses.front().protocol().family();
  const auto is_first = [first](const SocketAddress& address) { return address.protocol().family() == first; };
  const auto others = std::stable_partition(addresses.begin(), addresses.end(), is_first);
  std::sort(addresses.begin(), others);
  std::sort(others, addresses.end());
  addresses_ = std::move(addresses);
  look_up_at_ = now + kFresh;
  trusted_ = true;
}

}  // namespace penstock
