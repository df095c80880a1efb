// Messages of TLS itself: they are handled between data, and a flood of them ends its connection.
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "backends/socket/tls.h"
#include "tests/source_dir.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

std::string PemOf(const std::string& name) {
  std::ifstream file(SourcePath("tests/data/tls/" + name));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A session of the router, and a peer that OpenSSL plays, over a pair of sockets.
class TlsMessages : public testing::Test {
 protected:
  TlsMessages() {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets_.data()), 0);
    context_ = *TlsContext::ForServer({PemOf("server.pem"), PemOf("server.key")}, "", false);
    peers_ = *TlsContext::ForClient(PemOf("ca.pem"), {});
    session_ = TlsSession::Accept(*context_, sockets_[0]);
    peer_.reset(SSL_new(peers_->native()));
    SSL_set_fd(peer_.get(), sockets_[1]);
    SSL_set_connect_state(peer_.get());
    for (int i = 0; i < 10; ++i) {
      SSL_do_handshake(peer_.get());
      if (!session_->Handshake()) break;
    }
    EXPECT_EQ(SSL_do_handshake(peer_.get()), 1);
  }
  ~TlsMessages() override {
    for (const int socket : sockets_) ::close(socket);
  }

  void SendKeyUpdates(int count) {
    for (int i = 0; i < count; ++i) {
      SSL_key_update(peer_.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
      ASSERT_EQ(SSL_do_handshake(peer_.get()), 1);
    }
  }
  void Send(const std::string& text) {
    ASSERT_GT(SSL_write(peer_.get(), text.data(), static_cast<int>(text.size())), 0);
  }
  std::string Read() {
    std::array<char, 100> place{};
    const size_t count = session_->ReadSome(asio::buffer(place), error_);
    return {place.data(), count};
  }

  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  std::array<int, 2> sockets_{};
  TlsContext::Pointer context_;
  TlsContext::Pointer peers_;
  std::unique_ptr<TlsSession> session_;
  std::unique_ptr<SSL, Free> peer_;
  boost::system::error_code error_;
};

TEST_F(TlsMessages, ThoseBeforeDataAreHandledWithIt) {
  for (int round = 0; round < 10; ++round) {
    SendKeyUpdates(TlsSession::kMostMessages / 2);
    Send("data");
    EXPECT_EQ(Read(), "data");
    EXPECT_FALSE(error_);
  }
}

TEST_F(TlsMessages, ThoseWithoutDataLeaveTheSessionWaiting) {
  SendKeyUpdates(3);
  bool quiet = false;
  EXPECT_FALSE(session_->HasInput(quiet));
  EXPECT_TRUE(quiet);
  EXPECT_EQ(Read(), "");
  EXPECT_EQ(error_, asio::error::would_block);
  Send("data");
  EXPECT_TRUE(session_->HasInput(quiet));
  EXPECT_EQ(Read(), "data");
}

TEST_F(TlsMessages, AFloodEndsTheSession) {
  SendKeyUpdates(TlsSession::kMostMessages + 1);
  Send("data");
  EXPECT_EQ(Read(), "");
  EXPECT_EQ(error_, asio::error::connection_reset);
  EXPECT_EQ(session_->error_text(), "too many messages of the TLS protocol itself");
}

TEST_F(TlsMessages, AFloodThatIsOnlyLookedAtEndsTheSession) {
  SendKeyUpdates(TlsSession::kMostMessages + 1);
  bool quiet = true;
  EXPECT_FALSE(session_->HasInput(quiet));
  EXPECT_FALSE(quiet);
}

}  // namespace
}  // namespace penstock
