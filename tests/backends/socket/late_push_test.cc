#include "backends/socket/late_push.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "backends/socket/stream_socket.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

// A StreamSocket that has read all, and the far end of its connection.
class PushedSocket final : public Readiness::Owner {
 public:
  explicit PushedSocket(asio::io_context& loop) : near_(std::make_unique<StreamSocket>(loop, *this)) {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener, 8), 0);
    EXPECT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
    far_ = ::socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(::connect(far_, reinterpret_cast<sockaddr*>(&address), size), 0);
    const int accepted = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    const int on = 1;
    setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    EXPECT_FALSE(near_->Adopt(accepted));
    ::close(listener);
  }
  ~PushedSocket() { ::close(far_); }

  void OnReady() override {
    if (then) then();
  }
  void OnLoopEnd() override {}

  size_t Write(size_t bytes, Push push) {
    const std::string text(bytes, 'x');
    const asio::const_buffer buffer = asio::buffer(text);
    boost::system::error_code error;
    return near_->WriteSome({&buffer, 1}, error, push);
  }
  void SendFromFar() const { EXPECT_EQ(::send(far_, "a", 1, MSG_NOSIGNAL), 1); }
  // Bytes that came to the far end.
  size_t Arrived() const {
    std::array<char, 64 << 10> bytes;
    const ssize_t count = ::recv(far_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    return count > 0 ? static_cast<size_t>(count) : 0;
  }
  void Close() { near_->Close(); }

  std::function<void()> then;

 private:
  std::unique_ptr<StreamSocket> near_;
  int far_ = -1;
};

class LatePushTest : public testing::Test {
 protected:
  LatePushTest() : first(loop), second(loop) { Poll(); }

  void Poll() {
    loop.restart();
    loop.poll();
  }
  // One turn with an event of each socket: `early` runs in the first, `late` in the second.
  void Turn(std::function<void()> early, std::function<void()> late) {
    int events = 0;
    first.then = second.then = [&] { ++events == 1 ? early() : late(); };
    first.SendFromFar();
    second.SendFromFar();
    Poll();
    first.then = second.then = nullptr;
    EXPECT_EQ(events, 2);
  }

  asio::io_context loop;
  PushedSocket first;
  PushedSocket second;
};

TEST_F(LatePushTest, BytesOfATurnLeaveAtItsEnd) {
  size_t within = 1;
  Turn([&] { EXPECT_EQ(first.Write(5, Push::kWithTurn), 5u); }, [&] { within = first.Arrived(); });
  EXPECT_EQ(within, 0u);
  EXPECT_EQ(first.Arrived(), 5u);
}

TEST_F(LatePushTest, OtherBytesLeaveAtOnce) {
  size_t within = 0;
  Turn([&] { first.Write(5, Push::kNow); }, [&] { within = first.Arrived(); });
  EXPECT_EQ(within, 5u);
}

TEST_F(LatePushTest, ALaterWriteTakesTheEarlierOneAlong) {
  size_t within = 0;
  Turn([&] { first.Write(5, Push::kWithTurn); },
       [&] {
         first.Write(2, Push::kNow);
         within = first.Arrived();
       });
  EXPECT_EQ(within, 7u);
}

TEST_F(LatePushTest, TheLastEventOfATurnPushesAtOnce) {
  size_t within = 0;
  Turn([] {},
       [&] {
         first.Write(5, Push::kWithTurn);
         within = first.Arrived();
       });
  EXPECT_EQ(within, 5u);
}

TEST_F(LatePushTest, OutsideOfATurnNothingWaits) {
  first.Write(5, Push::kWithTurn);
  EXPECT_EQ(first.Arrived(), 5u);
}

TEST_F(LatePushTest, ALargeWriteLeavesAtOnce) {
  size_t within = 0;
  Turn([&] { first.Write(LatePush::kMostBytes + 1, Push::kWithTurn); }, [&] { within = first.Arrived(); });
  EXPECT_EQ(within, LatePush::kMostBytes + 1);
}

// The near end has not read its byte, so its close is a reset.
TEST_F(LatePushTest, ACloseLosesNothing) {
  Turn(
      [&] {
        first.Write(5, Push::kWithTurn);
        first.Close();
      },
      [] {});
  EXPECT_EQ(first.Arrived(), 5u);
}

}  // namespace
}  // namespace penstock
