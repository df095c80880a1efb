#include "router/live/connection_set.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>

namespace penstock {
namespace {

// Closes on a call, and may take another connection along.
class Member final : public LoopConnection {
 public:
  Member(ConnectionSet& set, bool idle, uint64_t owner = 0) : set_(set), idle_(idle) { set_.Enter(*this, owner); }
  ~Member() override { set_.Leave(*this); }
  void Close() override {
    closed = true;
    if (other != nullptr) other->reset();
  }
  void CloseIfIdle() override {
    if (idle_) Close();
  }

  bool closed = false;
  std::unique_ptr<Member>* other = nullptr;

 private:
  ConnectionSet& set_;
  const bool idle_;
};

TEST(ConnectionSet, IsEmptyOnceConnectionsAndGuestsHaveLeft) {
  int told = 0;
  ConnectionSet set([&told] { ++told; });
  EXPECT_TRUE(set.empty());
  std::optional<Member> connection(std::in_place, set, true);
  set.EnterGuest();
  connection.reset();
  EXPECT_FALSE(set.empty());
  EXPECT_EQ(told, 0);
  set.LeaveGuest();
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(told, 1);
}

TEST(ConnectionSet, ClosesIdleConnectionsOrAll) {
  ConnectionSet set([] {});
  Member idle(set, true);
  Member busy(set, false);
  set.CloseIdle();
  EXPECT_TRUE(idle.closed);
  EXPECT_FALSE(busy.closed);
  set.CloseAll();
  EXPECT_TRUE(busy.closed);
}

TEST(ConnectionSet, TheOldestIdleConnectionGoesFirst) {
  const auto at = [](double seconds) { return Instant::FromSeconds(seconds); };
  ConnectionSet set([] {});
  EXPECT_EQ(set.oldest_idle(), Instant::Never());
  EXPECT_FALSE(set.CloseOldest(at(9)));
  Member first(set, true), second(set, true), third(set, true);
  std::optional<Member> left(std::in_place, set, true);
  set.SetIdle(first, at(1));
  set.SetIdle(*left, at(2));
  set.SetIdle(second, at(3));
  set.SetIdle(third, at(4));
  set.SetIdle(first, at(5));
  EXPECT_EQ(set.oldest_idle(), at(2));
  left.reset();
  EXPECT_EQ(set.oldest_idle(), at(3));
  set.SetBusy(second);
  set.SetBusy(second);
  EXPECT_TRUE(set.CloseOldest(at(9)));
  EXPECT_TRUE(third.closed);
  EXPECT_FALSE(second.closed);
  EXPECT_EQ(set.oldest_idle(), at(5));
  EXPECT_TRUE(set.CloseOldest(at(9)));
  EXPECT_TRUE(first.closed);
  EXPECT_FALSE(set.CloseOldest(at(9)));
}

TEST(ConnectionSet, ANewConnectionGoesAfterASecondWhereNoneIsIdle) {
  const auto at = [](double seconds) { return Instant::FromSeconds(seconds); };
  ConnectionSet set([] {});
  Member fresh(set, true), later(set, true), idle(set, true);
  set.SetNew(fresh, at(1));
  set.SetNew(later, at(1.5));
  EXPECT_EQ(set.oldest_new(at(1.9)), Instant::Never()) << "its request may be on its way";
  EXPECT_FALSE(set.CloseOldest(at(1.9)));
  EXPECT_EQ(set.oldest_new(at(2)), at(1));
  set.SetIdle(idle, at(1.9));
  EXPECT_TRUE(set.CloseOldest(at(2)));
  EXPECT_TRUE(idle.closed) << "an idle one goes first";
  set.SetBusy(fresh);
  EXPECT_FALSE(set.CloseOldest(at(2))) << "it has a request now";
  EXPECT_TRUE(set.CloseOldest(at(2.5)));
  EXPECT_TRUE(later.closed);
}

TEST(ConnectionSet, TheOldestIdleConnectionOfAnOwnerGoesAndNoneOfOthers) {
  const auto at = [](double seconds) { return Instant::FromSeconds(seconds); };
  ConnectionSet set([] {});
  Member other(set, true, 7), first(set, true, 5), second(set, true, 5), fresh(set, true, 5);
  set.SetIdle(other, at(1));
  set.SetIdle(first, at(2));
  set.SetIdle(second, at(3));
  set.SetNew(fresh, at(4));
  EXPECT_FALSE(set.CloseOldestOf(6, at(9)));
  EXPECT_TRUE(set.CloseOldestOf(5, at(4)));
  EXPECT_TRUE(first.closed);
  EXPECT_TRUE(set.CloseOldestOf(5, at(4)));
  EXPECT_TRUE(second.closed);
  EXPECT_FALSE(set.CloseOldestOf(5, at(4.9))) << "its request may be on its way";
  EXPECT_TRUE(set.CloseOldestOf(5, at(5)));
  EXPECT_TRUE(fresh.closed);
  EXPECT_FALSE(other.closed);
  set.SetOwner(other, 5);
  EXPECT_TRUE(set.CloseOldestOf(5, at(5)));
  EXPECT_TRUE(other.closed);
}

TEST(ConnectionSet, AConnectionThatLeavesWhileAllAreClosedIsNotCalled) {
  ConnectionSet set([] {});
  auto first = std::make_unique<Member>(set, true);
  auto second = std::make_unique<Member>(set, true);
  first->other = &second;
  second->other = &first;
  set.CloseAll();
  EXPECT_NE(first == nullptr, second == nullptr);
}

}  // namespace
}  // namespace penstock
