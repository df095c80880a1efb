#include "config/text/units_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/text/addresses.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

TEST(UnitsText, SizesKnowPowersOfAThousandAndOf1024) {
  EXPECT_EQ(ParseSize("18GB")->value(), 18'000'000'000);
  EXPECT_EQ(ParseSize("80GiB")->value(), int64_t{80} << 30);
  EXPECT_EQ(ParseSize("1 kB")->value(), 1000);
  EXPECT_EQ(ParseSize("1.5KiB")->value(), 1536);
  EXPECT_EQ(ParseSize("0B")->value(), 0);
  EXPECT_EQ(ParseSize("0.1TB")->value(), 100'000'000'000);
}

TEST(UnitsText, ABareNumberIsNoSizeAndNoDuration) {
  EXPECT_THAT(std::string(ParseSize("18").status().message()), HasSubstr("needs a unit, one of B kB MB GB TB"));
  EXPECT_THAT(std::string(ParseDuration("0").status().message()), HasSubstr("needs a unit, one of ns us ms s m h d"));
}

TEST(UnitsText, BrokenQuantitiesAreErrors) {
  for (const char* text : {"", "GB", "-1GB", "1..5GB", "1.GB", ".5GB", "1  GB", "1gb", "1G", "1GB ", "0x1GB", "1e3GB",
                           "99999999999999999999B", "9000000TiB", "0.5B", "nan", "1,5GB"}) {
    EXPECT_FALSE(ParseSize(text).ok()) << text;
  }
  for (const char* text : {"", "s", "-1s", "1 sec", "1S", "1hour", "999999999999d", "0.5ns"}) {
    EXPECT_FALSE(ParseDuration(text).ok()) << text;
  }
  for (const char* text : {"", "k", "1.5", "1K", "1G", "-3", "1 000", "99999999999999999999"}) {
    EXPECT_FALSE(ParseCount(text).ok()) << text;
  }
  for (const char* text : {"", "x", "inf", "nan", "1s"}) EXPECT_FALSE(ParseNumber(text).ok()) << text;
}

TEST(UnitsText, DurationsAndCountsAreExact) {
  EXPECT_EQ(ParseDuration("250ms")->nanoseconds(), 250'000'000);
  EXPECT_EQ(ParseDuration("1.5h")->nanoseconds(), 5'400'000'000'000);
  EXPECT_EQ(ParseDuration("0.1s")->nanoseconds(), 100'000'000);
  EXPECT_EQ(ParseDuration("2d")->seconds(), 172'800);
  EXPECT_EQ(*ParseCount("600k"), 600'000);
  EXPECT_EQ(*ParseCount("1.5M"), 1'500'000);
  EXPECT_DOUBLE_EQ(*ParseParameters("8.03B"), 8.03e9);
  EXPECT_EQ(*ParseBandwidth("2039GB/s"), 2039);
  EXPECT_FALSE(ParseBandwidth("2039").ok());
  EXPECT_FALSE(ParseBandwidth("2039GB").ok());
}

TEST(UnitsText, WhatIsFormattedReadsBackToTheSameValue) {
  for (const int64_t value : {int64_t{0}, int64_t{1}, int64_t{1023}, int64_t{1024}, int64_t{1000},
                              int64_t{18'000'000'000}, int64_t{80} << 30, int64_t{123'456'789'012'345}}) {
    EXPECT_EQ(ParseSize(FormatSize(Bytes(value)))->value(), value);
    EXPECT_EQ(ParseDuration(FormatDuration(Duration::Nanoseconds(value)))->nanoseconds(), value);
  }
  EXPECT_EQ(FormatSize(Bytes(int64_t{80} << 30)), "80GiB");
  EXPECT_EQ(FormatSize(Bytes(18'000'000'000)), "18GB");
  EXPECT_EQ(FormatDuration(Duration::Milliseconds(250)), "250ms");
  EXPECT_EQ(FormatDuration(Duration()), "0s");
  for (const double number : {0.1, 1.0 / 3, 8.03e9, 1e-300, 0.0, 2.0})
    EXPECT_EQ(*ParseNumber(FormatNumber(number)), number);
}

TEST(Addresses, ListenAddressesAreHostAndPort) {
  EXPECT_EQ(*ParseHostPort("127.0.0.1:8080"), (HostPort{"127.0.0.1", 8080}));
  EXPECT_EQ(*ParseHostPort("[::1]:80"), (HostPort{"::1", 80}));
  EXPECT_EQ(*ParseHostPort("localhost:0"), (HostPort{"localhost", 0}));
  EXPECT_EQ(*ParseHostPort(":8080"), (HostPort{"", 8080}));
  EXPECT_EQ(ParseHostPort("[::1]:80")->Text(), "[::1]:80");
  EXPECT_EQ(*ParseListen("127.0.0.1:8080"), (ListenAddress{{"127.0.0.1", 8080}, ""}));
  for (const char* text : {"", ":", "8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "::1:80",
                           "[::1]", "[::1", "[abc]:80", "[::1]x:80", "a b:80", "127.0.0.1:8o"}) {
    EXPECT_FALSE(ParseListen(text).ok()) << text;
  }
}

TEST(Addresses, AListenerForClientsMayBeAUnixSocket) {
  EXPECT_EQ(ParseListen("unix:/run/p.sock")->socket_path, "/run/p.sock");
  EXPECT_EQ(ParseListen("unix:///run/p.sock")->Text(), "unix:/run/p.sock");
  EXPECT_TRUE(ParseListen("unix:/" + std::string(106, 'a')).ok());
  for (const std::string& text : {std::string("unix:"), std::string("unix:p.sock"), std::string("unix://host/p"),
                                  "unix:/" + std::string(107, 'a')}) {
    EXPECT_FALSE(ParseListen(text).ok()) << text;
  }
  EXPECT_FALSE(ParseHostPort("unix:/run/p.sock").ok()) << "simulated engines listen on TCP";
}

TEST(Addresses, AnEngineUrlThatEndsInThePathOfARequestNamesIt) {
  for (const char* path : {"/v1/chat/completions", "/v1/completions", "/v1/models", "/api/chat"}) {
    const auto url = ParseEngineUrl(std::string("http://host:8000") + path);
    ASSERT_FALSE(url.ok()) << path;
    EXPECT_EQ(url.status().message(),
              std::string("\"http://host:8000") + path + "\" ends in the path of a request: leave " + path + " out");
  }
  EXPECT_EQ(ParseEngineUrl("http://host/v1/account/openai")->base_path, "/v1/account/openai");
}

TEST(Addresses, EngineUrlsAreHttpOrHttps) {
  EXPECT_EQ(ParseEngineUrl("http://host")->address, (HostPort{"host", 80}));
  EXPECT_EQ(*ParseEngineUrl("HTTP://[::1]:9001/"), (EngineUrl{{"::1", 9001}, ""}));
  EXPECT_EQ(*ParseEngineUrl("http://10.0.0.1:9001/engines/a/"), (EngineUrl{{"10.0.0.1", 9001}, "/engines/a"}));
  EXPECT_EQ(*ParseEngineUrl("https://host/v"), (EngineUrl{{"host", 443}, "/v", true}));
  EXPECT_EQ(ParseEngineUrl("http://[::1]:9001")->Name(), "[::1]:9001");
  for (const char* text : {"http://host/v1", "http://host/v1/", "http://host//v1//"}) {
    EXPECT_EQ(ParseEngineUrl(text)->base_path, "") << text;
  }
  EXPECT_EQ(ParseEngineUrl("http://host/engines/v1")->base_path, "/engines");
  EXPECT_EQ(ParseEngineUrl("http://host/av1")->base_path, "/av1");
  for (const char* text : {"http://127.0.0.9", "http://localhost:1", "http://LOCALHOST", "http://[::1]:80/v1"}) {
    EXPECT_TRUE(ParseEngineUrl(text)->IsLoopback()) << text;
  }
  EXPECT_FALSE(ParseEngineUrl("http://10.0.0.1")->IsLoopback());
  for (const char* text : {"", "host:9001", "ftp://host", "http://", "http://:80", "http://user@host", "http://host:0",
                           "http://host:", "http://host:99999", "http://host/a?b", "http://host#a", "http://ho st"}) {
    EXPECT_FALSE(ParseEngineUrl(text).ok()) << text;
  }
}

// Messages go to the log, which more people read than the file of the configuration.
TEST(UnitsText, AMessageAboutAUrlNamesNoSecret) {
  for (const char* text : {"http://u:hunter2@h:1", "http://u:hunter2/@h", "u:hunter2@h", "http://u:hunter2?@h",
                           "http://h/v1?key=hunter2", "http://h:1#hunter2", "ftp://u:hunter2@h?key=hunter2"}) {
    const std::string message(ParseEngineUrl(text).status().message());
    EXPECT_EQ(message.find("hunter2"), std::string::npos) << message;
    EXPECT_NE(message.find('h'), std::string::npos) << message;
  }
  EXPECT_EQ(ParseEngineUrl("http://u:hunter2@h:1").status().message(),
            "\"http://...@h:1\" has a user name; put the engine's key into key");
}

}  // namespace
}  // namespace penstock
