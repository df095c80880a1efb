#include "backends/names/several_addresses.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace penstock {
namespace {

std::vector<std::string> Several(std::initializer_list<const char*> texts) {
  std::vector<boost::asio::ip::address> addresses;
  for (const char* text : texts) addresses.push_back(boost::asio::ip::make_address(text));
  return SeveralAddresses(addresses);
}

using Names = std::vector<std::string>;

TEST(SeveralAddressesTest, TwoOfOneFamilyAreTwoHosts) {
  EXPECT_EQ(Several({"10.0.0.2", "fd00::1", "10.0.0.1"}), (Names{"10.0.0.1", "10.0.0.2"}));
  EXPECT_EQ(Several({"10.0.0.1", "fd00::2", "fd00::1"}), (Names{"fd00::1", "fd00::2"}));
}

TEST(SeveralAddressesTest, OneOfEachFamilyIsOneHost) {
  EXPECT_EQ(Several({"10.0.0.1", "fd00::1"}), Names());
  EXPECT_EQ(Several({"10.0.0.1", "10.0.0.1"}), Names());
  EXPECT_EQ(Several({}), Names());
}

}  // namespace
}  // namespace penstock
