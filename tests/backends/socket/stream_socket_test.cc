#include "backends/socket/stream_socket.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

struct Pair {
  int near = -1;
  int far = -1;
};

// Two ends of a TCP connection on loopback.
Pair Connected() {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(listener, 8), 0);
  EXPECT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  Pair pair;
  pair.far = ::socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(::connect(pair.far, reinterpret_cast<sockaddr*>(&address), size), 0);
  pair.near = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  ::close(listener);
  return pair;
}

// The near end as a StreamSocket whose input was read once, and the far end as a descriptor.
class StreamSocketTest : public testing::Test, public Readiness::Owner {
 protected:
  StreamSocketTest() {
    const Pair pair = Connected();
    far = pair.far;
    socket = std::make_unique<StreamSocket>(loop, *this);
    EXPECT_FALSE(socket->Adopt(pair.near));
    Poll();
    EXPECT_EQ(Read(), "would_block");
    events = 0;
  }
  ~StreamSocketTest() override { CloseFar(); }

  void OnReady() override {
    ++events;
    if (then) then();
  }
  void OnLoopEnd() override {}

  void Poll() {
    loop.restart();
    loop.poll();
  }
  void Send(const std::string& bytes) const {
    ASSERT_EQ(::send(far, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  void CloseFar() {
    if (far >= 0) ::close(std::exchange(far, -1));
  }
  void ResetFar() {
    const linger now{1, 0};
    setsockopt(far, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    CloseFar();
  }
  // The bytes, or the name of the error.
  std::string Read(size_t most = 100) {
    std::string text(most, ' ');
    ErrorCode error;
    text.resize(socket->ReadSome(asio::buffer(text), error));
    return error ? Name(error) : text;
  }
  static std::string Name(const ErrorCode& error) {
    if (error == asio::error::would_block) return "would_block";
    if (error == asio::error::eof) return "eof";
    if (error == asio::error::connection_reset) return "reset";
    if (error == asio::error::broken_pipe) return "pipe";
    if (error == asio::error::bad_descriptor) return "closed";
    return error.message();
  }
  // Reads as an owner does in its event: while a read may find something.
  std::vector<std::string> ReadAll(size_t most = 100) {
    std::vector<std::string> found;
    while (socket->may_read()) {
      found.push_back(Read(most));
      if (found.back() == "eof" || found.back() == "reset") break;
    }
    return found;
  }
  // Fills the send buffer.
  void Fill() {
    const std::string block(1 << 16, 'x');
    const asio::const_buffer buffer = asio::buffer(block);
    ErrorCode error;
    while (socket->may_write() && !error) socket->WriteSome({&buffer, 1}, error);
  }

  using Texts = std::vector<std::string>;
  asio::io_context loop;
  std::unique_ptr<StreamSocket> socket;
  int far = -1;
  int events = 0;
  std::function<void()> then;
};

TEST_F(StreamSocketTest, AReadThatTookAllNeedsNoSecondOne) {
  Send("abcdef");
  Poll();
  EXPECT_EQ(ReadAll(100), Texts{"abcdef"});
  Poll();
  EXPECT_EQ(events, 1);
  EXPECT_FALSE(socket->may_read());
}

TEST_F(StreamSocketTest, BytesThatDidNotFitAreReadAtOnce) {
  Send("abcdef");
  Poll();
  EXPECT_EQ(ReadAll(4), (Texts{"abcd", "ef"}));
  Send("gh");
  Poll();
  EXPECT_EQ(ReadAll(4), Texts{"gh"});
}

TEST_F(StreamSocketTest, DataAndResetInOneGo) {
  Send("abc");
  ResetFar();
  Poll();
  EXPECT_TRUE(socket->broken());
  EXPECT_EQ(ReadAll(), (Texts{"abc", "reset"}));
}

TEST_F(StreamSocketTest, AResetBetweenTheEventAndTheReadIsAnotherEvent) {
  Send("abc");
  Poll();
  ResetFar();
  EXPECT_EQ(ReadAll(), Texts{"abc"});
  Poll();
  EXPECT_EQ(ReadAll(), Texts{"reset"});
}

TEST_F(StreamSocketTest, DataAndFinInOneGo) {
  Send("abc");
  CloseFar();
  Poll();
  EXPECT_TRUE(socket->peer_ended());
  EXPECT_EQ(ReadAll(), (Texts{"abc", "eof"}));
}

TEST_F(StreamSocketTest, FinAlone) {
  CloseFar();
  Poll();
  EXPECT_EQ(ReadAll(), Texts{"eof"});
}

TEST_F(StreamSocketTest, ResetAlone) {
  ResetFar();
  Poll();
  EXPECT_EQ(ReadAll(), Texts{"reset"});
}

TEST_F(StreamSocketTest, ThePeerThatHalfClosedHearsTheAnswer) {
  Send("abc");
  ASSERT_EQ(::shutdown(far, SHUT_WR), 0);
  Poll();
  EXPECT_TRUE(socket->peer_ended());
  EXPECT_FALSE(socket->broken());
  EXPECT_EQ(ReadAll(), (Texts{"abc", "eof"}));
  const asio::const_buffer answer = asio::buffer("ok", 2);
  ErrorCode error;
  EXPECT_EQ(socket->WriteSome({&answer, 1}, error), 2u);
  std::array<char, 8> got{};
  EXPECT_EQ(::recv(far, got.data(), got.size(), 0), 2);
}

TEST_F(StreamSocketTest, AnEndIsSeenBehindBytesThatNobodyReads) {
  Send("abc");
  Poll();
  EXPECT_FALSE(socket->peer_ended());
  CloseFar();
  Poll();
  EXPECT_TRUE(socket->peer_ended());
}

TEST_F(StreamSocketTest, ResetWhileAWriteWaitsForRoom) {
  Fill();
  EXPECT_FALSE(socket->may_write());
  events = 0;
  ResetFar();
  Poll();
  EXPECT_GE(events, 1);
  EXPECT_TRUE(socket->may_write());
  const asio::const_buffer buffer = asio::buffer("x", 1);
  ErrorCode error;
  EXPECT_EQ(socket->WriteSome({&buffer, 1}, error), 0u);
  EXPECT_EQ(Name(error), "reset");
}

TEST_F(StreamSocketTest, RoomIsToldOnceThePeerReads) {
  Fill();
  Poll();
  EXPECT_FALSE(socket->may_write());
  std::vector<char> taken(1 << 20);
  while (::recv(far, taken.data(), taken.size(), MSG_DONTWAIT) > 0) loop.run_one_for(std::chrono::milliseconds(1));
  loop.restart();
  while (!socket->may_write() && loop.run_one_for(std::chrono::seconds(5)) > 0) continue;
  EXPECT_TRUE(socket->may_write());
}

TEST_F(StreamSocketTest, AWriteOfManyPiecesGoesOnWhereItStopped) {
  const std::string text = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::vector<asio::const_buffer> pieces;
  for (const char& letter : text) pieces.emplace_back(&letter, 1);
  ErrorCode error;
  size_t sent = 0;
  while (sent < text.size())
    sent += socket->WriteSome(std::span<const asio::const_buffer>(pieces).subspan(sent), error);
  std::array<char, 64> got{};
  ASSERT_EQ(::recv(far, got.data(), got.size(), 0), static_cast<ssize_t>(text.size()));
  EXPECT_EQ(std::string(got.data(), text.size()), text);
}

TEST_F(StreamSocketTest, AClosedSocketIsAnErrorAndHearsNothing) {
  Send("abc");
  socket->Close();
  Poll();
  EXPECT_EQ(events, 0);
  EXPECT_EQ(Read(), "closed");
}

TEST_F(StreamSocketTest, ASocketMayBeDestroyedInItsEvent) {
  then = [this] { socket.reset(); };
  Send("abc");
  Poll();
  EXPECT_EQ(events, 1);
  EXPECT_EQ(ReadinessSet::Of(loop).sockets(), 0u);
}

TEST(LocalShortage, OnlyErrorsOfThisMachineAreLocal) {
  for (const int local : {EMFILE, ENFILE, ENOBUFS, ENOMEM, EADDRNOTAVAIL}) {
    EXPECT_TRUE(IsLocalShortage({local, boost::system::system_category()})) << local;
  }
  for (const int other : {ECONNREFUSED, ETIMEDOUT, EHOSTUNREACH, ECONNRESET, 0}) {
    EXPECT_FALSE(IsLocalShortage({other, boost::system::system_category()})) << other;
  }
  EXPECT_FALSE(IsLocalShortage(asio::error::eof));
}

}  // namespace
}  // namespace penstock
