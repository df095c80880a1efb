#include "backends/transport/known_addresses.h"

#include <algorithm>
#include <utility>

namespace penstock {

void KnownAddresses::OnFound(std::vector<SocketAddress> addresses, Instant now) {
  Take(std::move(addresses));
  look_up_at_ = now + kFresh;
}

void KnownAddresses::OnTold(std::vector<SocketAddress> addresses) { Take(std::move(addresses)); }

void KnownAddresses::Take(std::vector<SocketAddress> addresses) {
  const int first = addresses.front().protocol().family();
  const auto is_first = [first](const SocketAddress& address) { return address.protocol().family() == first; };
  const auto others = std::stable_partition(addresses.begin(), addresses.end(), is_first);
  std::sort(addresses.begin(), others);
  std::sort(others, addresses.end());
  addresses_ = std::move(addresses);
  trusted_ = true;
}

}  // namespace penstock
