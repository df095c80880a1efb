// The address of a client behind proxies: PROXY headers and X-Forwarded-For.
#include "router/http/peer/proxy_header.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "router/http/peer/forwarded_for.h"

namespace penstock {
namespace {

using boost::asio::ip::address;
using boost::asio::ip::make_address;

// A header of version 2 with its length.
std::string Binary(char command, char family, const std::string& rest) {
  std::string header("\r\n\r\n\0\r\nQUIT\n", 12);
  header += command;
  header += family;
  header += static_cast<char>(rest.size() >> 8);
  header += static_cast<char>(rest.size() & 0xff);
  return header + rest;
}

const std::string kFour("\xcb\x00\x71\x07\x0a\x00\x00\x01\x30\x39\x00\x50", 12);

std::string Six() {
  std::string addresses(36, '\0');
  addresses[0] = 0x20, addresses[1] = 0x01, addresses[2] = 0x0d, addresses[3] = static_cast<char>(0xb8);
  addresses[15] = 7;
  return addresses;
}

struct Good {
  std::string header;
  std::string client;  // Empty: none is named.
};

std::vector<Good> GoodHeaders() {
  return {{"PROXY TCP4 203.0.113.7 10.0.0.1 12345 80\r\n", "203.0.113.7"},
          {"PROXY TCP6 2001:db8::7 ::1 65535 0\r\n", "2001:db8::7"},
          {"PROXY UNKNOWN\r\n", ""},
          {"PROXY UNKNOWN anything at all\r\n", ""},
          {Binary(0x21, 0x11, kFour), "203.0.113.7"},
          {Binary(0x21, 0x11, kFour + std::string(600, 'x')), "203.0.113.7"},
          {Binary(0x21, 0x21, Six()), "2001:db8::7"},
          {Binary(0x20, 0x00, ""), ""},
          {Binary(0x20, 0x11, kFour), ""},
          {Binary(0x21, 0x00, ""), ""},
          {Binary(0x21, 0x31, std::string(216, 'u')), ""}};
}

TEST(ProxyHeaders, EachFormIsReadAndTheBytesBehindItAreTheClients) {
  for (const Good& good : GoodHeaders()) {
    const ProxyHeader header = ReadProxyHeader(good.header + "GET / HTTP/1.1\r\n");
    ASSERT_EQ(header.state, ProxyHeader::State::kDone) << good.header;
    EXPECT_EQ(header.size, good.header.size()) << good.header;
    EXPECT_EQ(header.client ? header.client->to_string() : "", good.client) << good.header;
  }
}

TEST(ProxyHeaders, EveryBeginningOfAGoodHeaderNeedsMore) {
  for (const Good& good : GoodHeaders()) {
    for (size_t size = 0; size < good.header.size(); ++size) {
      ASSERT_EQ(ReadProxyHeader(good.header.substr(0, size)).state, ProxyHeader::State::kNeedMore)
          << good.header << size;
    }
  }
}

TEST(ProxyHeaders, BadHeadersNameTheirFault) {
  const std::string long_line = "PROXY UNKNOWN " + std::string(93, 'x');
  const std::vector<std::string> bad = {"GET / HTTP/1.1\r\n",
                                        "PROXy",
                                        "PROXY TCP5 1.2.3.4 1.2.3.4 1 2\r\n",
                                        "PROXY  TCP4 1.2.3.4 1.2.3.4 1 2\r\n",
                                        "PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n",
                                        "PROXY TCP4 1.2.3.4 1.2.3.4 1 2 3\r\n",
                                        "PROXY TCP4 ::1 1.2.3.4 1 2\r\n",
                                        "PROXY TCP6 1.2.3.4 ::1 1 2\r\n",
                                        "PROXY TCP6 fe80::1%lo ::1 1 2\r\n",
                                        "PROXY TCP4 0.0.0.0 1.2.3.4 1 2\r\n",
                                        "PROXY TCP6 :: ::1 1 2\r\n",
                                        Binary(0x21, 0x11, std::string(12, '\0')),
                                        "PROXY TCP4 1.2.3.4 1.2.3.4 1 65536\r\n",
                                        "PROXY TCP4 1.2.3.4 1.2.3.4 -1 2\r\n",
                                        "PROXY TCP4 1.2.3 1.2.3.4 1 2\r\n",
                                        long_line,
                                        std::string("\r\n\r\n\0\r\nQUIT!", 12),
                                        Binary(0x11, 0x11, kFour),
                                        Binary(0x22, 0x11, kFour),
                                        Binary(0x21, 0x13, kFour),
                                        Binary(0x21, 0x41, kFour),
                                        Binary(0x21, 0x11, kFour.substr(1)),
                                        Binary(0x21, 0x21, kFour),
                                        Binary(0x21, 0x11, kFour + std::string(4096, 'x'))};
  for (const std::string& bytes : bad) {
    const ProxyHeader header = ReadProxyHeader(bytes);
    EXPECT_EQ(header.state, ProxyHeader::State::kBad) << bytes;
    EXPECT_FALSE(header.fault.empty()) << bytes;
    EXPECT_FALSE(header.client.has_value() && header.state == ProxyHeader::State::kDone);
  }
}

TEST(ProxyHeaders, AMappedAddressIsThatOfIpv4) {
  const ProxyHeader header = ReadProxyHeader("PROXY TCP6 ::ffff:1.2.3.4 ::1 1 2\r\n");
  ASSERT_TRUE(header.client.has_value());
  EXPECT_EQ(header.client->to_string(), "1.2.3.4");
}

TEST(ProxyHeaders, TheLongestOfEachVersionIsTheLastThatPasses) {
  EXPECT_EQ(ReadProxyHeader("PROXY UNKNOWN " + std::string(91, 'x') + "\r\n").state, ProxyHeader::State::kDone);
  EXPECT_EQ(ReadProxyHeader("PROXY UNKNOWN " + std::string(92, 'x') + "\r\n").state, ProxyHeader::State::kBad);
  const size_t room = ProxyHeader::kMaxBytes - 16 - kFour.size();
  EXPECT_EQ(ReadProxyHeader(Binary(0x21, 0x11, kFour + std::string(room, 'x'))).state, ProxyHeader::State::kDone);
  EXPECT_EQ(ReadProxyHeader(Binary(0x21, 0x11, kFour + std::string(room + 1, 'x'))).state, ProxyHeader::State::kBad);
}

std::string ClientSeen(const std::vector<std::string>& trusted, const char* connection, const HeaderList& headers) {
  return ClientAddress(TrustedProxies(trusted), make_address(connection), headers).to_string();
}

TEST(ForwardedFor, NobodyIsTrustedByDefault) {
  const HeaderList headers = {{"X-Forwarded-For", "203.0.113.7"}};
  EXPECT_EQ(ClientSeen({}, "127.0.0.1", headers), "127.0.0.1");
  EXPECT_EQ(ClientSeen({"10.0.0.0/8"}, "127.0.0.1", headers), "127.0.0.1");
  EXPECT_EQ(ClientSeen({"127.0.0.1"}, "127.0.0.1", headers), "203.0.113.7");
  EXPECT_EQ(ClientSeen({"127.0.0.1"}, "127.0.0.1", {}), "127.0.0.1");
}

TEST(ForwardedFor, TheLastAddressThatATrustedProxyNamedIsTheClient) {
  const std::vector<std::string> trusted = {"10.0.0.0/8", "fd00::/8"};
  EXPECT_EQ(ClientSeen(trusted, "10.0.0.1", {{"x-forwarded-for", "1.1.1.1, 203.0.113.7, 10.0.0.2"}}), "203.0.113.7");
  EXPECT_EQ(ClientSeen(trusted, "10.0.0.1", {{"x-forwarded-for", "6.6.6.6, 203.0.113.7"}}), "203.0.113.7")
      << "a client may send the header, too";
  EXPECT_EQ(
      ClientSeen(trusted, "10.0.0.1", {{"x-forwarded-for", "6.6.6.6"}, {"X-Forwarded-For", "203.0.113.7,fd00::2"}}),
      "203.0.113.7");
  EXPECT_EQ(ClientSeen(trusted, "10.0.0.1", {{"x-forwarded-for", "10.0.0.9, 10.0.0.2"}}), "10.0.0.9");
  EXPECT_EQ(ClientSeen({"127.0.0.1"}, "::ffff:127.0.0.1", {{"x-forwarded-for", "203.0.113.7"}}), "203.0.113.7");
}

TEST(ForwardedFor, PortsAndBracketsAreTakenOffAndGarbageEndsTheWalk) {
  const auto client = [](const char* value) {
    return ClientSeen({"10.0.0.0/8"}, "10.0.0.1", {{"x-forwarded-for", value}});
  };
  EXPECT_EQ(client("203.0.113.7:4711"), "203.0.113.7");
  EXPECT_EQ(client("[2001:db8::7]:4711"), "2001:db8::7");
  EXPECT_EQ(client("[2001:db8::7]"), "2001:db8::7");
  EXPECT_EQ(client("2001:db8::7"), "2001:db8::7");
  for (const char* garbage :
       {"", "unknown", "203.0.113.7,", "[2001:db8::7", "0.0.0.0", "::", "fe80::1%eth0", "1.2.3"}) {
    EXPECT_EQ(client(garbage), "10.0.0.1") << garbage;
  }
  EXPECT_EQ(client("203.0.113.7, unknown, 10.0.0.2"), "10.0.0.2");
}

TEST(ForwardedFor, AUnixSocketIsTrustedByItsName) {
  const HeaderList headers = {{"x-forwarded-for", "203.0.113.7"}};
  EXPECT_EQ(ClientAddress(TrustedProxies({"unix"}), address(), headers).to_string(), "203.0.113.7");
  EXPECT_TRUE(ClientAddress(TrustedProxies({"0.0.0.0/0", "::/0"}), address(), headers).is_unspecified());
}

}  // namespace
}  // namespace penstock
