#include <gtest/gtest.h>

#include "backends/transport/upstream.h"

namespace penstock {
namespace {

TEST(ParseUpstreamUrl, HostPortAndPrefix) {
  const auto plain = ParseUpstreamUrl("http://engine.example:8000");
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->host, "engine.example");
  EXPECT_EQ(plain->port, 8000);
  EXPECT_EQ(plain->base_path, "");
  EXPECT_EQ(ParseUpstreamUrl("HTTP://a")->port, 80);
  EXPECT_EQ(ParseUpstreamUrl("http://a/")->base_path, "");
  EXPECT_EQ(ParseUpstreamUrl("http://a:1/llm/b/")->base_path, "/llm/b");
}

TEST(HostOf, TheUsualPortIsLeftOut) {
  const std::pair<std::string, std::string> hosts[] = {
      {"http://a", "a"},         {"http://a:80", "a"},      {"http://a:8000", "a:8000"},
      {"http://a:443", "a:443"}, {"https://a", "a"},        {"https://a:443", "a"},
      {"https://a:80", "a:80"},  {"http://[::1]", "[::1]"}, {"http://[::1]:1", "[::1]:1"}};
  for (const auto& [url, host] : hosts) EXPECT_EQ(HostOf(*ParseUpstreamUrl(url)), host) << url;
}

TEST(ParseUpstreamUrl, Ipv6InBrackets) {
  const auto address = ParseUpstreamUrl("http://[::1]:9001/x");
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(address->host, "::1");
  EXPECT_EQ(address->port, 9001);
  EXPECT_EQ(ParseUpstreamUrl("http://[::1]")->port, 80);
}

TEST(ParseUpstreamUrl, HttpsHasAPortOfItsOwn) {
  const auto address = ParseUpstreamUrl("https://engine");
  ASSERT_TRUE(address.ok());
  EXPECT_TRUE(address->tls);
  EXPECT_EQ(address->port, 443);
  EXPECT_EQ(ParseUpstreamUrl("https://engine:9001")->port, 9001);
}

TEST(ParseUpstreamUrl, UnixSockets) {
  const auto address = ParseUpstreamUrl("unix:/run/engine.sock");
  ASSERT_TRUE(address.ok());
  EXPECT_EQ(address->socket_path, "/run/engine.sock");
  EXPECT_FALSE(address->tls);
  EXPECT_EQ(ParseUpstreamUrl("unix:///run/engine.sock")->socket_path, "/run/engine.sock");
  for (const std::string url : {"unix:", "unix:engine.sock", "unix://host/x"}) EXPECT_FALSE(ParseUpstreamUrl(url).ok());
  EXPECT_TRUE(ParseUpstreamUrl("unix:/" + std::string(106, 'x')).ok());
  EXPECT_FALSE(ParseUpstreamUrl("unix:/" + std::string(107, 'x')).ok());
}

TEST(ParseUpstreamUrl, WhatItCannotServeIsRefused) {
  for (const char* url : {"a:80", "ftp://a", "http://", "http://:80", "http://a:0", "http://a:65536", "http://a:x",
                          "http://a:", "http://u:p@a", "http://a/x?y=1", "http://a/#f", "http://a b", "http://[::1",
                          "http://[::1]x", "http://a\r\nX: y"}) {
    EXPECT_FALSE(ParseUpstreamUrl(url).ok()) << url;
  }
}

}  // namespace
}  // namespace penstock
