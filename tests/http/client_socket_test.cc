#include "router/http/socket/client_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/source_dir.h"

namespace penstock {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using boost::system::error_code;

std::string Pem(const std::string& name) {
  std::ifstream file(SourcePath("tests/data/tls/" + name));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

struct Waiter final : ClientSocket::InputWaiter {
  void OnInput() override { ++calls; }
  int calls = 0;
};

// Two ends on loopback, with small buffers; `near_` is the router's.
class ClientSocketTest : public testing::Test {
 protected:
  ClientSocketTest() : far_(loop_) {}

  void Connect(const TlsContext* tls = nullptr) {
    tcp::acceptor acceptor(loop_, tcp::v4());
    acceptor.set_option(asio::socket_base::send_buffer_size(4096));
    acceptor.bind(tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    acceptor.listen();
    far_.open(tcp::v4());
    far_.set_option(asio::socket_base::receive_buffer_size(4096));
    far_.connect(acceptor.local_endpoint());
    const int accepted = ::accept4(acceptor.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    near_.emplace(loop_, accepted, tls, Duration::Seconds(10));
  }

  std::string Read() {
    std::array<char, 100> place;
    return std::string(place.data(), near_->ReadSome(asio::buffer(place), ec_));
  }
  // Runs until the waiter was called once more.
  void RunUntilCalled() {
    const int before = waiter_.calls;
    loop_.restart();
    while (waiter_.calls == before && loop_.run_one() > 0) continue;
  }
  void RunReady() {
    loop_.restart();
    loop_.poll();
  }

  asio::io_context loop_;
  Waiter waiter_;
  tcp::socket far_;
  std::optional<ClientSocket> near_;
  error_code ec_;
};

TEST_F(ClientSocketTest, AWaitEndsOnceWhenInputCame) {
  Connect();
  EXPECT_EQ(Read(), "");
  EXPECT_EQ(ec_, asio::error::would_block);
  near_->AwaitInput(waiter_);
  near_->AwaitInput(waiter_);
  EXPECT_TRUE(near_->waiting());
  asio::write(far_, asio::buffer("hello", 5));
  RunUntilCalled();
  EXPECT_FALSE(near_->waiting());
  EXPECT_EQ(Read(), "hello");
  RunReady();
  EXPECT_EQ(waiter_.calls, 1);
}

TEST_F(ClientSocketTest, AnEndThatCameWithBytesIsToldAfterThem) {
  Connect();
  asio::write(far_, asio::buffer("bye", 3));
  far_.shutdown(tcp::socket::shutdown_send);
  near_->AwaitInput(waiter_);
  RunUntilCalled();
  EXPECT_EQ(Read(), "bye");
  near_->AwaitInput(waiter_);
  RunUntilCalled();
  EXPECT_EQ(Read(), "");
  EXPECT_EQ(ec_, asio::error::eof);
}

TEST_F(ClientSocketTest, AWaiterThatIsForgottenIsCalledNoMore) {
  Connect();
  Read();
  near_->AwaitInput(waiter_);
  near_->Forget(waiter_);
  asio::write(far_, asio::buffer("hello", 5));
  Waiter other;
  loop_.run_for(std::chrono::milliseconds(20));
  near_->AwaitInput(other);
  near_->Forget(waiter_);
  loop_.restart();
  while (other.calls == 0 && loop_.run_one() > 0) continue;
  EXPECT_EQ(other.calls, 1);
  EXPECT_EQ(waiter_.calls, 0);
}

TEST_F(ClientSocketTest, AWaitOfAClosedOrDestroyedSocketCallsNobody) {
  Connect();
  Read();
  near_->AwaitInput(waiter_);
  near_->Close();
  far_.close();
  EXPECT_FALSE(near_->open());
  RunReady();
  EXPECT_EQ(waiter_.calls, 0);
  Connect();
  near_->AwaitInput(waiter_);
  near_.reset();
  RunReady();
  EXPECT_EQ(waiter_.calls, 0);
}

TEST_F(ClientSocketTest, ASmallWriteWithoutRoomIsNotTaken) {
  Connect();
  const std::string block(1000, 'b');
  while (!ec_) near_->WriteOrOwe(block, ec_);
  EXPECT_EQ(ec_, asio::error::would_block);
  bool room = false;
  asio::co_spawn(
      loop_,
      [&]() -> asio::awaitable<void> {
        const error_code waited = co_await near_->AwaitRoom();
        room = !waited;
      },
      asio::detached);
  RunReady();
  EXPECT_FALSE(room);
  std::array<char, 4096> place;
  loop_.restart();
  while (!room) {
    far_.read_some(asio::buffer(place));
    loop_.poll();
  }
  EXPECT_EQ(near_->WriteOrOwe("x", ec_), 1u);
}

TEST_F(ClientSocketTest, UnderTlsOwedBytesGoBeforeAllOthers) {
  const auto server = TlsContext::ForServer({Pem("server.pem"), Pem("server.key")}, "", false);
  const auto client = TlsContext::ForClient(Pem("ca.pem"), {});
  ASSERT_TRUE(server.ok() && client.ok());
  Connect(server->get());
  far_.non_blocking(true);
  const auto session = TlsSession::Connect(**client, far_.native_handle(), "127.0.0.1");
  error_code far_ec = asio::error::would_block;
  ec_ = far_ec;
  while (ec_ == asio::error::would_block || far_ec == asio::error::would_block) {
    far_ec = session->Handshake();
    ec_ = near_->Handshake();
  }
  ASSERT_FALSE(ec_ || far_ec) << session->error_text();

  std::string sent;
  while (!ec_) {
    const std::string piece = absl::StrCat(sent.size(), ",");
    if (near_->WriteOrOwe(piece, ec_) > 0) sent += piece;
  }
  EXPECT_EQ(ec_, asio::error::would_block);
  std::string got;
  std::array<char, 4096> place;
  bool last = false;
  while (!absl::EndsWith(got, "end")) {
    got.append(place.data(), session->ReadSome(asio::buffer(place), far_ec));
    const asio::const_buffer end("end", 3);
    if (!last) last = near_->WriteSome({&end, 1}, ec_) == 3;
  }
  EXPECT_EQ(got, sent + "end");
}

}  // namespace
}  // namespace penstock
