// Hosts that are numbers, and so need no look-up. Pure.
#ifndef PENSTOCK_BACKENDS_NAMES_LITERAL_H_
#define PENSTOCK_BACKENDS_NAMES_LITERAL_H_

#include <boost/asio/ip/address.hpp>
#include <boost/system/error_code.hpp>
#include <optional>
#include <string>

namespace penstock {

// Null: the host is a name.
inline std::optional<boost::asio::ip::address> AddressOfLiteral(const std::string& host) {
  boost::system::error_code no_literal;
  boost::asio::ip::address address = boost::asio::ip::make_address(host, no_literal);
  if (no_literal) return std::nullopt;
  return address;
}

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_NAMES_LITERAL_H_
