#include "backends/names/several_addresses.h"

#include <set>

namespace penstock {
namespace asio = boost::asio;

std::vector<std::string> SeveralAddresses(const std::vector<asio::ip::address>& addresses) {
  std::set<std::string> four;
  std::set<std::string> six;
  for (const asio::ip::address& address : addresses) (address.is_v4() ? four : six).insert(address.to_string());
  const std::set<std::string>& more = four.size() > 1 ? four : six;
  if (more.size() < 2) return {};
  return {more.begin(), more.end()};
}

}  // namespace penstock
