// Connections of trusted proxies that begin with a PROXY header.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/http/test_server.h"

namespace penstock {
namespace {

constexpr char kBadHeaders[] = "penstock_bad_input_total{kind=\"proxy_header\"}";

std::string Line(const std::string& client) { return absl::StrCat("PROXY TCP4 ", client, " 10.0.0.1 1 2\r\n"); }

// A file that goes with this object. The router has to end before: it makes a log that was removed anew.
struct PassingFile {
  explicit PassingFile(std::filesystem::path at) : path(std::move(at)) {}
  ~PassingFile() { std::filesystem::remove(path); }

  const std::filesystem::path path;
};

class Proxies : public ::testing::Test {
 protected:
  explicit Proxies(const std::string& trusted = "127.0.0.1", int connections = 1000)
      : engine_([](EngineCall& call) { call.Answer(200, R"({"choices":[{}]})"); }),
        log_(std::filesystem::temp_directory_path() / absl::StrCat("penstock-proxies-", ::getpid(), ".log")),
        router_({engine_.url()}, [&](Config& config) {
          config.trusted_proxies = {trusted};
          config.proxy_protocol = true;
          config.admin_listen = "127.0.0.1:0";
          config.limits.max_connections = connections;
          config.limits.header_timeout = Duration::Seconds(5);
          config.log.path = log_.path.string();
          config.log.all_decisions = true;
        }) {
    EXPECT_TRUE(router_.WaitUp());
  }

  std::unique_ptr<Wire> Begin(const std::string& bytes) const {
    auto wire = router_.Connect();
    wire->Send(bytes);
    return wire;
  }
  std::string Log() const {
    std::ifstream file(log_.path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  bool Logged(const std::string& text) const {
    return Eventually([&] { return Log().find(text) != std::string::npos; });
  }
  double Metric(const std::string& name) const {
    const std::string text = router_.server->Metrics();
    const size_t at = text.find("\n" + name);
    return at == std::string::npos ? -1 : std::stod(text.substr(at + 1 + name.size()));
  }

  const std::string chat_ = PostJson("/v1/chat/completions", ChatBody());
  ScriptedEngine engine_;
  const PassingFile log_;
  TestServer router_;
};

TEST_F(Proxies, TheClientOfTheHeaderIsInTheLog) {
  const auto wire = Begin(Line("203.0.113.7") + chat_);
  EXPECT_EQ(ReadMessage(*wire).status(), 200);
  EXPECT_TRUE(Logged("\"client\":\"203.0.113.7\""));
  wire->Send(chat_);
  EXPECT_EQ(ReadMessage(*wire).status(), 200) << "the header comes once";
}

TEST_F(Proxies, TheHeaderMayComeByteByByte) {
  const auto wire = router_.Connect();
  for (const char byte : Line("203.0.113.8") + chat_) ASSERT_TRUE(wire->Send(std::string(1, byte)));
  EXPECT_EQ(ReadMessage(*wire).status(), 200);
  EXPECT_TRUE(Logged("\"client\":\"203.0.113.8\""));
}

TEST_F(Proxies, AProxyThatSpeaksForItselfKeepsItsAddress) {
  const auto wire = Begin("PROXY UNKNOWN\r\n" + chat_);
  EXPECT_EQ(ReadMessage(*wire).status(), 200);
  EXPECT_TRUE(Logged("\"client\":\"127.0.0.1\""));
}

TEST_F(Proxies, ABadHeaderIsClosedNamedAndCounted) {
  const auto wire = Begin("PROXY TCP4 nobody 10.0.0.1 1 2\r\n" + chat_);
  EXPECT_TRUE(wire->WaitClosed());
  EXPECT_EQ(wire->buffer(), "");
  EXPECT_TRUE(Logged("bad PROXY header: an address is not one of its protocol"));
  EXPECT_EQ(Metric(kBadHeaders), 1);
  EXPECT_TRUE(Begin(chat_)->WaitClosed()) << "a trusted proxy has to send one";
  EXPECT_EQ(Metric(kBadHeaders), 2);
  EXPECT_EQ(engine_.calls(), 0);
}

TEST_F(Proxies, HalfAHeaderIsTruncatedAndAConnectionWithoutAWordIsNothing) {
  Begin("PROXY TCP4 203.0.113.7")->Shutdown();
  EXPECT_TRUE(Eventually([&] { return Metric("penstock_bad_input_total{kind=\"truncated\"}") == 1; }));
  Begin("")->Close();
  EXPECT_TRUE(Eventually([&] { return Metric("penstock_connections_open") == 0; }));
  EXPECT_EQ(Metric(kBadHeaders), 0);
  EXPECT_EQ(Metric("penstock_bad_input_total{kind=\"truncated\"}"), 1);
}

class FewFromOneClient : public Proxies {
 protected:
  FewFromOneClient() : Proxies("127.0.0.1", 256) {}
};

TEST_F(FewFromOneClient, TheNamedAddressHasABoundAndTheProxyHasNone) {
  std::vector<std::unique_ptr<Wire>> wires;
  for (int i = 0; i < 192; ++i) {
    wires.push_back(Begin(Line("203.0.113.7") + chat_));
    ASSERT_EQ(ReadMessage(*wires.back()).status(), 200) << i;
  }
  const auto next = Begin(Line("203.0.113.7") + chat_);
  EXPECT_EQ(ReadMessage(*next).status(), 200);
  EXPECT_TRUE(wires.front()->WaitClosed()) << "the oldest idle one gives way";
  const auto other = Begin(Line("203.0.113.9") + chat_);
  EXPECT_EQ(ReadMessage(*other).status(), 200);
  wires.pop_back();
  EXPECT_TRUE(Eventually([&] { return ReadMessage(*Begin(Line("203.0.113.7") + chat_)).status() == 200; }));
}

class Untrusted : public Proxies {
 protected:
  Untrusted() : Proxies("10.0.0.0/8") {}
};

TEST_F(Untrusted, AHeaderOfAnybodyElseIsNoRequestAndForwardedForIsIgnored) {
  const auto wire = Begin(Line("203.0.113.7") + chat_);
  EXPECT_EQ(ReadMessage(*wire).status(), 400);
  EXPECT_EQ(Metric(kBadHeaders), 0);
  const auto plain = Begin(PostJson("/v1/chat/completions", ChatBody(), "X-Forwarded-For: 203.0.113.7\r\n"));
  EXPECT_EQ(ReadMessage(*plain).status(), 200);
  EXPECT_TRUE(Logged("\"client\":\"127.0.0.1\""));
  EXPECT_EQ(Log().find("203.0.113.7"), std::string::npos);
}

}  // namespace
}  // namespace penstock
