#include "router/http/peer/peer_counts.h"

#include <gtest/gtest.h>

#include <boost/asio/ip/address.hpp>

#include "router/http/peer/client_peer.h"

namespace penstock {
namespace {

TEST(PeerCounts, AnAddressHasItsMostAndGivesPlacesBack) {
  const auto counts = std::make_shared<PeerCounts>();
  PeerCounts::Place first = counts->Enter(1, 2);
  PeerCounts::Place second = counts->Enter(1, 2);
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(counts->Enter(1, 2), nullptr);
  EXPECT_NE(counts->Enter(2, 2), nullptr);
  first.reset();
  EXPECT_NE(counts->Enter(1, 2), nullptr);
}

TEST(PeerCounts, OneAddressLeavesAQuarterOfManyConnections) {
  EXPECT_EQ(PeerCounts::MostOfOnePeer(1000), 750);
  EXPECT_GT(PeerCounts::MostOfOnePeer(100), 100);
}

uint64_t AccountOf(const char* address) { return penstock::AccountOf(boost::asio::ip::make_address(address)); }

TEST(ClientPeer, OneHostHasOneAccount) {
  EXPECT_EQ(AccountOf("10.0.0.1"), AccountOf("::ffff:10.0.0.1"));
  EXPECT_NE(AccountOf("10.0.0.1"), AccountOf("10.0.0.2"));
  EXPECT_EQ(AccountOf("2001:db8::1"), AccountOf("2001:db8::ffff:1"));
  EXPECT_NE(AccountOf("2001:db8::1"), AccountOf("2001:db8:0:1::1"));
}

}  // namespace
}  // namespace penstock
