#include "backends/transport/endpoint_resolver.h"

#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tests/backends/names/hanging_names.h"
#include "tests/backends/transport/scripted_server.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

using Found = absl::StatusOr<std::vector<SocketAddress>>;

constexpr Duration kShort = Duration::Milliseconds(20);
constexpr Duration kLong = Duration::Seconds(30);

std::vector<SocketAddress> Only(const std::string& address) {
  return {asio::ip::tcp::endpoint(asio::ip::make_address(address), 80)};
}

asio::awaitable<Found> Ask(EndpointResolver& resolver, Duration timeout) {
  co_return co_await resolver.Resolve(timeout);
}

TEST(EndpointResolverTest, ANameThatHangsEndsWithTheTimeOfItsCallerAndDelaysNoOther) {
  HangingNames names;
  NameLookUps look_ups(names.source());
  asio::io_context loop;
  EndpointResolver slow(loop, "slow", 80, look_ups);
  EndpointResolver good(loop, "good", 80, look_ups);
  EXPECT_EQ(RunToEnd(loop, Ask(slow, kShort)).status(),
            absl::DeadlineExceededError("resolving slow: no answer in time"));
  EXPECT_EQ(*RunToEnd(loop, Ask(good, kLong)), Only("127.0.0.1"));
}

TEST(EndpointResolverTest, AnAnswerThatComesLaterIsTaken) {
  HangingNames names;
  NameLookUps look_ups(names.source());
  asio::io_context loop;
  EndpointResolver slow(loop, "slow", 80, look_ups);
  EXPECT_FALSE(RunToEnd(loop, Ask(slow, kShort)).ok());
  names.Release();
  EXPECT_EQ(*RunToEnd(loop, Ask(slow, kLong)), Only("127.0.0.1"));
  EXPECT_EQ(names.asked(), 1);
}

TEST(EndpointResolverTest, OldAddressesServeOnWhereALookUpHangs) {
  HangingNames names;
  names.Release();
  NameLookUps look_ups(names.source());
  asio::io_context loop;
  EndpointResolver resolver(loop, "slow", 80, look_ups);
  EXPECT_EQ(*RunToEnd(loop, Ask(resolver, kLong)), Only("127.0.0.1"));
  names.HangAgain({"127.0.0.2"});
  resolver.Distrust();
  EXPECT_EQ(*RunToEnd(loop, Ask(resolver, kShort)), Only("127.0.0.1"));
  names.Release();
  EXPECT_EQ(*RunToEnd(loop, Ask(resolver, kLong)), Only("127.0.0.2"));
}

TEST(EndpointResolverTest, TheAddressesOfOneLoopServeAnotherWhereALookUpHangs) {
  HangingNames names;
  names.Release();
  NameLookUps look_ups(names.source());
  asio::io_context loop, second;
  EndpointResolver resolver(loop, "slow", 80, look_ups);
  EXPECT_EQ(*RunToEnd(loop, Ask(resolver, kLong)), Only("127.0.0.1"));
  names.HangAgain({"127.0.0.2"});
  EndpointResolver other(second, "slow", 80, look_ups);
  EXPECT_EQ(*RunToEnd(second, Ask(other, kShort)), Only("127.0.0.1"));
  other.Distrust();
  names.Release();
  EXPECT_EQ(*RunToEnd(second, Ask(other, kLong)), Only("127.0.0.2"));
}

TEST(EndpointResolverTest, ALoopEndsWhileALookUpHangs) {
  HangingNames names;
  NameLookUps look_ups(names.source());
  {
    asio::io_context loop;
    EndpointResolver slow(loop, "slow", 80, look_ups);
    EXPECT_FALSE(RunToEnd(loop, Ask(slow, kShort)).ok());
  }
  names.Release();
  asio::io_context loop;
  EndpointResolver again(loop, "slow", 80, look_ups);
  EXPECT_TRUE(RunToEnd(loop, Ask(again, kLong)).ok());
}

TEST(EndpointResolverTest, ANameThatDoesNotExistIsUnavailable) {
  HangingNames names;
  NameLookUps look_ups(names.source());
  asio::io_context loop;
  EndpointResolver none(loop, "none", 80, look_ups);
  EXPECT_EQ(RunToEnd(loop, Ask(none, kLong)).status().code(), absl::StatusCode::kUnavailable);
}

TEST(EndpointResolverTest, LiteralsAndLocalhostAreNotLookedUp) {
  HangingNames names;
  NameLookUps look_ups(names.source());
  asio::io_context loop;
  EndpointResolver literal(loop, "10.0.0.1", 80, look_ups);
  EndpointResolver local(loop, "LocalHost", 80, look_ups);
  EXPECT_EQ(*RunToEnd(loop, Ask(literal, kShort)), Only("10.0.0.1"));
  std::vector<SocketAddress> both = {asio::ip::tcp::endpoint(asio::ip::make_address("::1"), 80)};
  both.push_back(Only("127.0.0.1").front());
  EXPECT_EQ(*RunToEnd(loop, Ask(local, kShort)), both);
  EXPECT_EQ(names.asked(), 0);
}

}  // namespace
}  // namespace penstock
