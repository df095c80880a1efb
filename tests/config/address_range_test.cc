#include "config/text/address_range.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/load_helpers.h"

namespace penstock {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

AddressBytes Address(const char* text) {
  AddressBytes bytes{};
  EXPECT_EQ(inet_pton(AF_INET6, text, bytes.data()), 1) << text;
  return bytes;
}

bool Holds(const char* range, const char* address) { return ParseAddressRange(range)->Holds(Address(address)); }

TEST(AddressRange, HoldsItsPrefixAndNoMore) {
  EXPECT_TRUE(Holds("10.0.0.0/8", "::ffff:10.255.255.255"));
  EXPECT_FALSE(Holds("10.0.0.0/8", "::ffff:11.0.0.0"));
  EXPECT_FALSE(Holds("10.0.0.0/8", "::10.0.0.1")) << "only a mapped address is the IPv4 one";
  EXPECT_TRUE(Holds("192.0.2.128/25", "::ffff:192.0.2.200"));
  EXPECT_FALSE(Holds("192.0.2.128/25", "::ffff:192.0.2.127"));
  EXPECT_TRUE(Holds("192.0.2.1", "::ffff:192.0.2.1"));
  EXPECT_FALSE(Holds("192.0.2.1", "::ffff:192.0.2.2"));
  EXPECT_TRUE(Holds("fd00::/8", "fdff::1"));
  EXPECT_FALSE(Holds("fd00::/8", "fe00::1"));
  EXPECT_TRUE(Holds("2001:db8::/33", "2001:db8:7fff::1"));
  EXPECT_FALSE(Holds("2001:db8::/33", "2001:db8:8000::1"));
  EXPECT_TRUE(Holds("0.0.0.0/0", "::ffff:203.0.113.9"));
  EXPECT_FALSE(Holds("0.0.0.0/0", "2001:db8::1"));
  EXPECT_TRUE(Holds("::/0", "2001:db8::1"));
}

TEST(AddressRange, FaultsAreNamed) {
  for (const char* text : {"", "10.0.0", "10.0.0.0.0", "010.0.0.1", "host", "fd00::g", "fe80::1%eth0", "/8"}) {
    EXPECT_THAT(std::string(ParseAddressRange(text).status().message()), HasSubstr("is not an IP address or a range"))
        << text;
  }
  for (const char* text : {"10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/x", "fd00::/129"}) {
    EXPECT_THAT(std::string(ParseAddressRange(text).status().message()), HasSubstr("needs a prefix of 0 to")) << text;
  }
  for (const char* text : {"10.0.0.1/8", "192.0.2.129/25", "fd00::1/8"}) {
    EXPECT_THAT(std::string(ParseAddressRange(text).status().message()), HasSubstr("has bits behind its prefix"))
        << text;
  }
}

TEST(TrustedProxyKeys, RangesAndUnixAreTakenAndPrinted) {
  const Config config = Parsed(WithReplica("trusted_proxies: [10.0.0.0/8, '::1', unix]\nproxy_protocol: true\n"));
  EXPECT_EQ(config.trusted_proxies, (std::vector<std::string>{"10.0.0.0/8", "::1", "unix"}));
  EXPECT_TRUE(config.proxy_protocol);
  EXPECT_EQ(Parsed(PrintConfig(config)).trusted_proxies, config.trusted_proxies);
  EXPECT_THAT(Parsed(WithReplica("")).trusted_proxies, IsEmpty());
}

TEST(TrustedProxyKeys, BadRangesAreFindings) {
  EXPECT_THAT(FindingsOf(WithReplica("trusted_proxies: [10.0.0.0/8, proxy.internal]\n")),
              HasSubstr("trusted_proxies[1]: \"proxy.internal\" is not an IP address"));
  EXPECT_THAT(FindingsOf(WithReplica("proxy_protocol: true\n")), HasSubstr("proxy_protocol: needs trusted_proxies"));
}

TEST(TrustedProxyKeys, ARangeOfAllAddressesIsAWarning) {
  for (const char* all : {"0.0.0.0/0", "::/0"}) {
    EXPECT_THAT(Warnings(Parsed(WithReplica("trusted_proxies: ['" + std::string(all) + "']\n"))),
                Contains(HasSubstr("trusts every client to name any address")));
  }
  EXPECT_THAT(Warnings(Parsed(WithReplica("trusted_proxies: [127.0.0.1, '::1']\n"))), IsEmpty());
}

}  // namespace
}  // namespace penstock
