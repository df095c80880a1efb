#include "router/core/sessions/session_book.h"

#include <gtest/gtest.h>

#include <vector>

namespace penstock {
namespace {

constexpr TenantId kQuiet{1};
constexpr TenantId kLoud{2};
const ReplicaId kHere{3};

TEST(FairLru, TheOwnerWithTheMostKeysLosesItsOldest) {
  FairLru keys(3);
  EXPECT_EQ(keys.Put(10, kQuiet), std::nullopt);
  EXPECT_EQ(keys.Put(20, kLoud), std::nullopt);
  EXPECT_EQ(keys.Put(21, kLoud), std::nullopt);
  EXPECT_EQ(keys.Put(22, kLoud), 20u);
  EXPECT_EQ(keys.Put(21, kLoud), std::nullopt);
  EXPECT_EQ(keys.Put(23, kLoud), 22u) << "21 was used again";
  EXPECT_TRUE(keys.Contains(10));
  EXPECT_EQ(keys.size(), 3u);
}

TEST(FairLru, AKeyMayChangeItsOwnerAndLeave) {
  FairLru keys(2);
  keys.Put(1, kQuiet);
  keys.Put(1, kLoud);
  EXPECT_EQ(keys.size(), 1u);
  keys.Remove(1);
  keys.Remove(1);
  EXPECT_EQ(keys.size(), 0u);
  keys.Put(2, kQuiet);
  keys.Put(3, kQuiet);
  EXPECT_EQ(keys.Put(4, kQuiet), 2u);
}

TEST(SessionBook, ASessionHasThePlaceAndTheContextOfItsLastRequest) {
  SessionBook book;
  EXPECT_FALSE(book.Find(7).replica);
  book.Sent(7, kQuiet, kHere, Tokens(500));
  EXPECT_EQ(book.Find(7).replica, kHere);
  EXPECT_EQ(book.Find(7).context, Tokens(500));
  book.Ended(7, kHere, Tokens(800));
  EXPECT_EQ(book.Find(7).context, Tokens(800));
  book.Sent(7, kQuiet, ReplicaId(1), Tokens(900));
  book.Ended(7, kHere, Tokens(9999));  // An older request of it, elsewhere.
  EXPECT_EQ(book.Find(7).replica, ReplicaId(1));
  EXPECT_EQ(book.Find(7).context, Tokens(900));
}

TEST(SessionBook, ARequestWithoutASessionLeavesNothing) {
  SessionBook book;
  book.Sent(0, kQuiet, kHere, Tokens(500));
  EXPECT_EQ(book.size(), 0u);
  EXPECT_FALSE(book.Find(0).replica);
}

TEST(SessionBook, TrustIsLearnedBySession) {
  SessionBook book;
  book.Sent(7, kQuiet, kHere, Tokens(500));
  book.Sent(8, kQuiet, kHere, Tokens(500));
  EXPECT_EQ(book.Find(7).trust, SessionBook::kUnproven);
  for (int i = 0; i < 20; ++i) book.Learn(7, Tokens(5000), Tokens(0));
  book.Learn(8, Tokens(5000), Tokens(5000));
  EXPECT_LT(book.Find(7).trust, 0.1);
  EXPECT_EQ(book.Find(8).trust, 1);
  book.Learn(7, Tokens(0), Tokens(0));  // Nothing was expected.
  EXPECT_LT(book.Find(7).trust, 0.1);
}

TEST(SessionBook, AFloodOfFreshKeysTakesNothingOfSessionsThatCameBack) {
  SessionBook book(100);
  for (uint64_t session = 1; session <= 20; ++session) {
    book.Sent(session, kQuiet, kHere, Tokens(500));
    book.Sent(session, kQuiet, kHere, Tokens(600));
  }
  for (uint64_t session = 1000; session < 9000; ++session) book.Sent(session, kLoud, kHere, Tokens(1));
  // Also where each key is a tenant of its own.
  for (uint64_t session = 10000; session < 19000; ++session) book.Sent(session, TenantId(session), kHere, Tokens(1));
  for (uint64_t session = 1; session <= 20; ++session) EXPECT_TRUE(book.Find(session).replica) << session;
  EXPECT_LE(book.size(), 100u);
}

TEST(SessionBook, AFloodOfSessionsThatComeBackTakesNothingOfAQuietTenant) {
  SessionBook book(100);
  for (int i = 0; i < 2; ++i) book.Sent(1, kQuiet, kHere, Tokens(500));
  for (uint64_t session = 1000; session < 3000; ++session) {
    for (int i = 0; i < 2; ++i) book.Sent(session, kLoud, kHere, Tokens(1));
  }
  EXPECT_TRUE(book.Find(1).replica);
  EXPECT_LE(book.size(), 100u);
}

TEST(SessionBook, SessionsOfAVacantPlaceAreForgotten) {
  SessionBook book;
  book.Sent(7, kQuiet, ReplicaId(0), Tokens(500));
  book.Sent(8, kQuiet, ReplicaId(1), Tokens(500));
  Fleet fleet;
  fleet.replicas.resize(2);
  fleet.replicas[0].removed = true;
  fleet.replicas[1].name = "b";
  book.Configure(fleet);
  EXPECT_FALSE(book.Find(7).replica);
  EXPECT_EQ(book.Find(8).replica, ReplicaId(1));
  EXPECT_EQ(book.size(), 1u);
}

}  // namespace
}  // namespace penstock
