#include "backends/transport/known_addresses.h"

#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <string>
#include <vector>

namespace penstock {
namespace {

namespace asio = boost::asio;

SocketAddress At(const std::string& address) { return asio::ip::tcp::endpoint(asio::ip::make_address(address), 80); }

Instant Second(double s) { return Instant::FromSeconds(s); }

TEST(KnownAddresses, NothingIsKnownBeforeTheFirstAnswer) {
  const KnownAddresses known;
  EXPECT_TRUE(known.Due(Second(0)));
  EXPECT_FALSE(known.usable());
}

TEST(KnownAddresses, AnAnswerIsFreshForTenSecondsAndServesWhileItIsRenewed) {
  KnownAddresses known;
  known.OnFound({At("10.0.0.1")}, Second(0));
  EXPECT_FALSE(known.Due(Second(9)));
  EXPECT_TRUE(known.Due(Second(10)));
  EXPECT_TRUE(known.usable());
}

TEST(KnownAddresses, AFailedLookUpKeepsTheAddressesAndIsTriedAgainSoon) {
  KnownAddresses known;
  known.OnFound({At("10.0.0.1")}, Second(0));
  known.OnFailed(Second(10));
  EXPECT_TRUE(known.usable());
  EXPECT_EQ(known.addresses(), std::vector<SocketAddress>{At("10.0.0.1")});
  EXPECT_FALSE(known.Due(Second(10.5)));
  EXPECT_TRUE(known.Due(Second(11)));
}

TEST(KnownAddresses, AfterAFailedConnectionALookUpComesFirst) {
  KnownAddresses known;
  known.OnFound({At("10.0.0.1")}, Second(0));
  known.Distrust();
  EXPECT_TRUE(known.Due(Second(1)));
  EXPECT_FALSE(known.usable());
  known.OnFailed(Second(1));
  EXPECT_EQ(known.addresses().size(), 1u) << "an old address is better than none";
  known.OnFound({At("10.0.0.2")}, Second(2));
  EXPECT_TRUE(known.usable());
  EXPECT_EQ(known.addresses(), std::vector<SocketAddress>{At("10.0.0.2")});
}

TEST(KnownAddresses, TheOrderIsTheSameHoweverTheNameServerShufflesIt) {
  KnownAddresses one;
  KnownAddresses other;
  one.OnFound({At("::2"), At("10.0.0.3"), At("::1"), At("10.0.0.1")}, Second(0));
  other.OnFound({At("::1"), At("10.0.0.1"), At("::2"), At("10.0.0.3")}, Second(0));
  EXPECT_EQ(one.addresses(), other.addresses());
  EXPECT_EQ(one.addresses().front(), At("::1"));
}

}  // namespace
}  // namespace penstock
