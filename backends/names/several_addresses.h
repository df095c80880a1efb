// A name that stands for several hosts. One replica has one ledger of memory, so such a name has to be several
// replicas. Pure.
#ifndef PENSTOCK_BACKENDS_NAMES_SEVERAL_ADDRESSES_H_
#define PENSTOCK_BACKENDS_NAMES_SEVERAL_ADDRESSES_H_

#include <boost/asio/ip/address.hpp>
#include <string>
#include <vector>

namespace penstock {

// The addresses of the family of which a name has more than one, in order; empty: there is none. An IPv4 and an IPv6
// address are one host.
std::vector<std::string> SeveralAddresses(const std::vector<boost::asio::ip::address>& addresses);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_NAMES_SEVERAL_ADDRESSES_H_
