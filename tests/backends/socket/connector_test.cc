#include "backends/socket/connector.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace penstock {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using ErrorCode = boost::system::error_code;

struct Result {
  std::unique_ptr<StreamSocket> socket;
  ErrorCode error;
};

// The owner of a socket that hears nothing more.
struct Nobody final : Readiness::Owner {
  void OnReady() override {}
  void OnLoopEnd() override {}
};

class ConnectorTest : public testing::Test {
 protected:
  Result Connect(std::vector<SocketAddress> addresses, Duration timeout = Duration::Seconds(5)) {
    std::optional<Result> result;
    const auto work = [&]() -> asio::awaitable<void> {
      Connector connector(loop);
      Result got;
      got.socket = co_await connector.Connect(std::move(addresses), timeout, got.error);
      if (got.socket != nullptr) got.socket->SetOwner(nobody);
      result = std::move(got);
    };
    asio::co_spawn(loop, work(), [](std::exception_ptr error) { ASSERT_EQ(error, nullptr); });
    loop.restart();
    const Instant limit = Now() + Duration::Seconds(20);
    while (!result && Now() < limit) loop.run_one_for(std::chrono::milliseconds(100));
    EXPECT_TRUE(result.has_value());
    return std::move(*result);
  }
  static tcp::endpoint Loopback(uint16_t port = 0) { return {asio::ip::address_v4::loopback(), port}; }
  // A port without a listener.
  SocketAddress Dead() {
    tcp::acceptor acceptor(loop, Loopback());
    const tcp::endpoint endpoint = acceptor.local_endpoint();
    return endpoint;
  }
  // A listener that is full, so the kernel drops every further SYN, as a lost host does.
  SocketAddress BlackHole() {
    hole.emplace(loop);
    hole->open(tcp::v4());
    hole->bind(Loopback());
    hole->listen(0);
    for (int i = 0; i < 3; ++i) {
      fillers.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
      const SocketAddress to = hole->local_endpoint();
      ::connect(fillers.back(), to.data(), static_cast<socklen_t>(to.size()));
    }
    return hole->local_endpoint();
  }
  ~ConnectorTest() override {
    for (const int filler : fillers) ::close(filler);
  }

  asio::io_context loop;
  Nobody nobody;
  std::optional<tcp::acceptor> hole;
  std::vector<int> fillers;
};

TEST_F(ConnectorTest, TheFirstAddressThatAnswersWins) {
  tcp::acceptor acceptor(loop, Loopback());
  const Result result = Connect({acceptor.local_endpoint()});
  EXPECT_FALSE(result.error);
  ASSERT_NE(result.socket, nullptr);
  EXPECT_TRUE(result.socket->may_write());
}

TEST_F(ConnectorTest, ARefusalTriesTheNextAddressAtOnce) {
  tcp::acceptor acceptor(loop, Loopback());
  const Instant begin = Now();
  const Result result = Connect({Dead(), acceptor.local_endpoint()});
  EXPECT_FALSE(result.error);
  EXPECT_LT(Now() - begin, Connector::kNextTry);
}

TEST_F(ConnectorTest, ABlackHoleDoesNotHideTheNextAddress) {
  tcp::acceptor acceptor(loop, Loopback());
  const Result result = Connect({BlackHole(), acceptor.local_endpoint()}, Duration::Seconds(10));
  EXPECT_FALSE(result.error);
  EXPECT_NE(result.socket, nullptr);
  EXPECT_EQ(ReadinessSet::Of(loop).sockets(), 1u) << "the tries that lost are closed";
}

TEST_F(ConnectorTest, NoAnswerIsATimeout) {
  const Result result = Connect({BlackHole()}, Duration::Milliseconds(50));
  EXPECT_EQ(result.error, asio::error::timed_out);
  EXPECT_EQ(result.socket, nullptr);
}

TEST_F(ConnectorTest, WhenAllRefuseTheErrorIsThatOfAPeer) {
  EXPECT_EQ(Connect({Dead(), Dead()}).error, asio::error::connection_refused);
  EXPECT_EQ(Connect({}).error, asio::error::host_not_found);
}

TEST_F(ConnectorTest, UnixSocketsConnect) {
  const std::string path = std::filesystem::temp_directory_path() / ("connector_test." + std::to_string(getpid()));
  {
    asio::local::stream_protocol::acceptor acceptor(loop, asio::local::stream_protocol::endpoint(path));
    EXPECT_FALSE(Connect({asio::local::stream_protocol::endpoint(path)}).error);
  }
  EXPECT_EQ(Connect({asio::local::stream_protocol::endpoint(path)}).error, asio::error::connection_refused);
  std::filesystem::remove(path);
  EXPECT_TRUE(Connect({asio::local::stream_protocol::endpoint(path)}).error);
}

TEST_F(ConnectorTest, WithoutDescriptorsTheErrorIsLocal) {
  tcp::acceptor acceptor(loop, Loopback());
  EXPECT_FALSE(Connect({acceptor.local_endpoint()}).error);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{3, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const Result result = Connect({acceptor.local_endpoint(), acceptor.local_endpoint()});
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(IsLocalShortage(result.error)) << result.error.message();
}

TEST_F(ConnectorTest, ALoopThatEndsMeanwhileLeavesNothingBehind) {
  auto other = std::make_unique<asio::io_context>();
  const SocketAddress hole_address = BlackHole();
  bool ended = false;
  const auto work = [&ended](asio::io_context& io, SocketAddress to) -> asio::awaitable<void> {
    Connector connector(io);
    ErrorCode error;
    std::vector<SocketAddress> addresses(1, to);
    const auto none = co_await connector.Connect(std::move(addresses), Duration::Seconds(60), error);
    ended = true;
  };
  asio::co_spawn(*other, work(*other, hole_address), [](std::exception_ptr) {});
  other->poll();
  other.reset();
  EXPECT_FALSE(ended);
}

}  // namespace
}  // namespace penstock
