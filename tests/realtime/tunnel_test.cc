#include "router/realtime/tunnel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <utility>

namespace penstock {
namespace {

namespace asio = boost::asio;

constexpr Tunnel::Limits kPatient{Duration::Seconds(60), Duration::Seconds(60)};

// A socket of the tunnel, and the far end as the test plays it.
class TestSide : private StreamSocket::Owner {
 public:
  explicit TestSide(asio::io_context& io) : near(io, *this) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    EXPECT_FALSE(near.Adopt(ends[0]));
    far_ = ends[1];
  }
  ~TestSide() { Close(); }
  TestSide(const TestSide&) = delete;
  TestSide& operator=(const TestSide&) = delete;

  // False: there is no room.
  bool Send(const std::string& text) {
    return ::send(far_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  // Takes what has come.
  const std::string& Got() {
    std::array<char, 4096> buffer;
    ssize_t count = 0;
    while ((count = ::recv(far_, buffer.data(), buffer.size(), 0)) > 0) {
      got_.append(buffer.data(), static_cast<size_t>(count));
    }
    ended_ |= count == 0;
    return got_;
  }
  // The tunnel sends nothing more.
  bool SawEnd() {
    Got();
    return ended_;
  }
  void EndSending() { ::shutdown(far_, SHUT_WR); }
  void Close() {
    if (far_ >= 0) ::close(std::exchange(far_, -1));
  }

  StreamSocket near;

 private:
  void OnReady() override {}
  void OnLoopEnd() override {}

  int far_ = -1;
  std::string got_;
  bool ended_ = false;
};

class TunnelTest : public testing::Test {
 protected:
  TunnelTest() { loop.deadlines().Start(); }
  ~TunnelTest() override { loop.deadlines().Stop(); }

  void Begin(Tunnel::Limits limits = kPatient, std::string from_client = "", std::string from_engine = "") {
    const auto passed = [this](uint64_t up, uint64_t down) {
      to_engine += up;
      to_client += down;
    };
    tunnel.emplace(loop, Tunnel::Side{&client.near, std::move(from_client)},
                   Tunnel::Side{&engine.near, std::move(from_engine)}, limits, passed);
    asio::co_spawn(loop.io(), tunnel->Run(), [this](const std::exception_ptr&, RealtimeEnd how) { end = how; });
  }
  // Runs the loop until it holds; false: it does not within a minute.
  bool Until(const std::function<bool()>& holds) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!holds() && std::chrono::steady_clock::now() < give_up) loop.io().run_one_for(std::chrono::milliseconds(5));
    return holds();
  }
  std::optional<RealtimeEnd> End() {
    Until([this] { return end.has_value(); });
    return end;
  }

  Edge edge;
  EventLoop loop{0, edge};
  TestSide client{loop.io()};
  TestSide engine{loop.io()};
  std::optional<Tunnel> tunnel;
  std::optional<RealtimeEnd> end;
  uint64_t to_engine = 0;
  uint64_t to_client = 0;
};

TEST_F(TunnelTest, BytesPassBothWaysAndAreCounted) {
  Begin();
  client.Send("question");
  engine.Send("an answer");
  EXPECT_TRUE(Until([this] { return engine.Got() == "question" && client.Got() == "an answer"; }));
  EXPECT_EQ(to_engine, 8u);
  EXPECT_EQ(to_client, 9u);
  EXPECT_FALSE(end);
}

TEST_F(TunnelTest, BytesThatWereReadBeforeGoFirst) {
  client.Send("second");
  Begin(kPatient, "first ", "greeting");
  EXPECT_TRUE(Until([this] { return engine.Got() == "first second" && client.Got() == "greeting"; }));
}

TEST_F(TunnelTest, AnEndOfOneSideReachesTheOtherWhichMayStillAnswer) {
  Begin();
  client.Send("bye");
  client.EndSending();
  EXPECT_TRUE(Until([this] { return engine.SawEnd(); }));
  EXPECT_EQ(engine.Got(), "bye");
  engine.Send("bye too");
  engine.EndSending();
  EXPECT_EQ(End(), RealtimeEnd::kClient);
  EXPECT_EQ(client.Got(), "bye too");
  EXPECT_TRUE(client.SawEnd());
}

TEST_F(TunnelTest, ASideThatDoesNotEndBehindTheOtherIsCut) {
  Begin();
  engine.EndSending();
  EXPECT_TRUE(Until([this] { return client.SawEnd(); }));
  EXPECT_FALSE(end);
  EXPECT_EQ(End(), RealtimeEnd::kEngine);
  EXPECT_FALSE(client.near.is_open());
  EXPECT_FALSE(engine.near.is_open());
}

TEST_F(TunnelTest, AResetEndsBothSides) {
  Begin();
  client.Send("nobody reads this");
  EXPECT_TRUE(Until([this] { return to_engine > 0; }));
  engine.Close();
  EXPECT_EQ(End(), RealtimeEnd::kBroken);
  EXPECT_TRUE(client.SawEnd());
}

TEST_F(TunnelTest, ASideThatTakesNothingStopsTheOtherAndLosesNoByte) {
  Begin();
  const std::string piece(1000, 'x');
  std::string sent;
  // Full: neither the client's socket, nor the tunnel, nor the engine's socket has room.
  const auto fill = [&] {
    bool more = false;
    while (client.Send(piece + static_cast<char>('a' + sent.size() / 1001 % 26))) {
      sent += piece + static_cast<char>('a' + sent.size() / 1001 % 26);
      more = true;
    }
    return !more;
  };
  EXPECT_TRUE(Until([&] { return loop.io().poll() == 0 && fill() && to_engine > 0; }));
  EXPECT_LT(sent.size(), 4u << 20);
  EXPECT_TRUE(Until([&] { return engine.Got().size() == sent.size(); }));
  EXPECT_EQ(engine.Got(), sent);
}

TEST_F(TunnelTest, SilenceAndAgeHaveTheirLimits) {
  Begin({Duration::Milliseconds(40), Duration::Seconds(60)});
  EXPECT_EQ(End(), RealtimeEnd::kIdle);
}

TEST_F(TunnelTest, BytesDoNotProlongTheWholeTime) {
  Begin({Duration::Seconds(60), Duration::Milliseconds(80)});
  EXPECT_TRUE(Until([this] {
    client.Send("x");
    engine.Got();
    return end.has_value();
  }));
  EXPECT_EQ(end, RealtimeEnd::kTime);
}

TEST_F(TunnelTest, AStopEndsIt) {
  Begin();
  client.Send("x");
  EXPECT_TRUE(Until([this] { return engine.Got() == "x"; }));
  tunnel->Stop();
  EXPECT_EQ(End(), RealtimeEnd::kStopped);
}

}  // namespace
}  // namespace penstock
