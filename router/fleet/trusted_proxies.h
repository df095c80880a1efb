// The proxies whose word about the addresses of clients counts. Immutable after construction; thread-safe.
//
// Nobody is trusted by default. A test costs a comparison per configured range.
#ifndef PENSTOCK_ROUTER_FLEET_TRUSTED_PROXIES_H_
#define PENSTOCK_ROUTER_FLEET_TRUSTED_PROXIES_H_

#include <string>
#include <vector>

#include "config/text/address_range.h"

namespace penstock {

class TrustedProxies {
 public:
  // The texts of `trusted_proxies`; a text that is no range trusts nobody.
  explicit TrustedProxies(const std::vector<std::string>& texts);

  bool empty() const { return ranges_.empty() && !unix_; }
  bool Trust(const AddressBytes& address) const;
  // Whoever connects over the router's own unix socket.
  bool TrustUnix() const { return unix_; }

 private:
  std::vector<AddressRange> ranges_;
  bool unix_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_FLEET_TRUSTED_PROXIES_H_
