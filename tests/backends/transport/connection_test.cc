#include "backends/transport/connection.h"

#include <gtest/gtest.h>

#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <memory>

#include "tests/backends/transport/scripted_server.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

class ConnectionTest : public testing::Test {
 protected:
  void SetUp() override {
    asio::ip::tcp::acceptor acceptor(loop_, {asio::ip::address_v4::loopback(), 0});
    const auto error = RunToEnd(loop_, connection_->Connect({acceptor.local_endpoint()}, Duration::Seconds(10)));
    ASSERT_FALSE(error) << error.message();
    acceptor.accept(peer_);
  }
  Connection::ErrorCode AtTheDeadline() { return connection_->TakeInput(asio::error::timed_out); }

  asio::io_context loop_;
  asio::ip::tcp::socket peer_{loop_};
  std::shared_ptr<Connection> connection_ = std::make_shared<Connection>(loop_, std::make_shared<size_t>(0));
};

TEST_F(ConnectionTest, ADeadlineWithoutBytesIsATimeout) { EXPECT_EQ(AtTheDeadline(), asio::error::timed_out); }

// The loop stood still: the deadline came before the news of the bytes.
TEST_F(ConnectionTest, BytesThatAreThereAtTheDeadlineAreTaken) {
  asio::write(peer_, asio::buffer("in time", 7));
  EXPECT_EQ(AtTheDeadline(), Connection::ErrorCode());
  EXPECT_EQ(connection_->input(), "in time");
}

TEST_F(ConnectionTest, AnEndThatIsThereAtTheDeadlineIsAnEnd) {
  peer_.close();
  EXPECT_EQ(AtTheDeadline(), asio::error::eof);
}

}  // namespace
}  // namespace penstock
