#include "backends/socket/readiness.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace penstock {
namespace {

namespace asio = boost::asio;

// One end of a pair of connected sockets in the set of a loop; the test holds the other end.
class End final : public Readiness::Owner {
 public:
  explicit End(asio::io_context& loop) {
    std::array<int, 2> pair{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()), 0);
    near = pair[0];
    far = pair[1];
    readiness.emplace(loop, *this);
    EXPECT_FALSE(readiness->Enter(near, /*connected=*/false));
  }
  ~End() {
    Close();
    CloseFar();
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  void Send() { EXPECT_EQ(::send(far, "x", 1, MSG_NOSIGNAL), 1); }
  void Close() {
    if (near < 0) return;
    if (readiness) readiness->Mute();
    ::close(std::exchange(near, -1));
  }
  void CloseFar() {
    if (far >= 0) ::close(std::exchange(far, -1));
  }
  void OnReady() override {
    ++events;
    if (then) then();
  }
  void OnLoopEnd() override {}

  int near = -1;
  int far = -1;
  int events = 0;
  std::function<void()> then;
  std::optional<Readiness> readiness;
};

// Runs all handlers that are ready.
void Poll(asio::io_context& loop) {
  loop.restart();
  loop.poll();
}

TEST(Readiness, ANewSocketIsToldItsRoomOnce) {
  asio::io_context loop;
  End end(loop);
  EXPECT_FALSE(end.readiness->room());
  Poll(loop);
  EXPECT_EQ(end.events, 1);
  EXPECT_TRUE(end.readiness->room());
  EXPECT_FALSE(end.readiness->input());
  Poll(loop);
  EXPECT_EQ(end.events, 1);
}

TEST(Readiness, InputStaysSetUntilItIsTakenAndComesBackWithTheNextByte) {
  asio::io_context loop;
  End end(loop);
  end.Send();
  Poll(loop);
  EXPECT_TRUE(end.readiness->input());
  end.readiness->InputTaken();
  EXPECT_FALSE(end.readiness->input());
  Poll(loop);
  EXPECT_FALSE(end.readiness->input());
  end.Send();
  Poll(loop);
  EXPECT_TRUE(end.readiness->input());
  EXPECT_FALSE(end.readiness->ended());
}

TEST(Readiness, AnEndThatCameWithBytesOutlivesThem) {
  asio::io_context loop;
  End end(loop);
  end.Send();
  end.CloseFar();
  Poll(loop);
  EXPECT_TRUE(end.readiness->ended());
  end.readiness->InputTaken();
  EXPECT_TRUE(end.readiness->input()) << "the end has to be read";
}

TEST(Readiness, ManyEndsHoldUpNobodyWhoGoesOn) {
  asio::io_context loop;
  std::vector<std::unique_ptr<End>> leaving;
  for (int i = 0; i < 10 * ReadinessSet::kBatch; ++i) leaving.push_back(std::make_unique<End>(loop));
  End staying(loop);
  Poll(loop);
  for (const auto& end : leaving) end->CloseFar();
  staying.Send();
  const auto told = [&] {
    return std::count_if(leaving.begin(), leaving.end(), [](const auto& end) { return end->readiness->ended(); });
  };
  const int before = staying.events;
  loop.restart();
  loop.run_one();
  EXPECT_EQ(staying.events, before + 1) << "behind all the ends in the kernel's list";
  EXPECT_EQ(told(), ReadinessSet::kEnds);
  loop.run_one();
  EXPECT_EQ(told(), 2 * ReadinessSet::kEnds);
  Poll(loop);
  EXPECT_EQ(told(), static_cast<std::ptrdiff_t>(leaving.size()));
}

TEST(Readiness, AnEndThatWaitsReachesNoLaterSocket) {
  asio::io_context loop;
  std::vector<std::unique_ptr<End>> leaving;
  for (int i = 0; i < 3 * ReadinessSet::kEnds; ++i) leaving.push_back(std::make_unique<End>(loop));
  Poll(loop);
  for (const auto& end : leaving) end->CloseFar();
  loop.restart();
  loop.run_one();
  leaving.clear();
  End later(loop);
  Poll(loop);
  EXPECT_EQ(later.events, 1) << "its own room";
  EXPECT_FALSE(later.readiness->ended());
}

TEST(Readiness, AHalfClosedPeerHasEndedAndIsNotBroken) {
  asio::io_context loop;
  End end(loop);
  ASSERT_EQ(::shutdown(end.far, SHUT_WR), 0);
  Poll(loop);
  EXPECT_TRUE(end.readiness->ended());
  EXPECT_FALSE(end.readiness->broken());
}

TEST(Readiness, ASocketThatAnEarlierEventOfTheBatchClosedHearsNothing) {
  asio::io_context loop;
  End one(loop);
  End two(loop);
  Poll(loop);
  one.events = two.events = 0;
  one.then = [&] { two.Close(); };
  two.then = [&] { one.Close(); };
  one.Send();
  two.Send();
  Poll(loop);
  EXPECT_EQ(one.events + two.events, 1);
}

TEST(Readiness, ASocketDestroysItselfInItsOwnEvent) {
  asio::io_context loop;
  auto one = std::make_unique<End>(loop);
  End two(loop);
  one->then = [&] {
    const auto then = std::move(one->then);  // It outlives its owner.
    one.reset();
  };
  Poll(loop);
  EXPECT_EQ(one, nullptr);
  EXPECT_EQ(two.events, 1);
}

// The new socket gets the descriptor number and the place of the old one, whose event is still in the batch.
TEST(Readiness, AnEventOfAClosedSocketDoesNotReachTheNextOneOfItsNumber) {
  asio::io_context loop;
  auto old = std::make_unique<End>(loop);
  End first(loop);
  std::unique_ptr<End> next;
  Poll(loop);
  // The set tells in the order of arrival.
  first.then = [&] {
    const int number = old->near;
    old->CloseFar();
    old.reset();
    next = std::make_unique<End>(loop);
    EXPECT_EQ(std::min(next->near, next->far), number) << "the kernel gives the lowest number";
    next->then = [&next] { EXPECT_FALSE(next->readiness->input()); };
  };
  first.Send();
  old->Send();
  Poll(loop);
  ASSERT_NE(next, nullptr);
  EXPECT_FALSE(next->readiness->input());
  EXPECT_FALSE(next->readiness->ended());
}

TEST(Readiness, ADescriptorThatLivesOnElsewhereTellsNobodyAfterItsPlaceIsFree) {
  asio::io_context loop;
  auto old = std::make_unique<End>(loop);
  const int copy = dup(old->near);
  const int far = std::exchange(old->far, -1);
  Poll(loop);
  old.reset();
  End next(loop);
  Poll(loop);
  next.events = 0;
  EXPECT_EQ(::send(far, "x", 1, MSG_NOSIGNAL), 1);
  Poll(loop);
  EXPECT_EQ(next.events, 0);
  ::close(copy);
  ::close(far);
}

TEST(Readiness, ATurnHandsOutABatchAndOtherHandlersRunInBetween) {
  asio::io_context loop;
  std::vector<std::unique_ptr<End>> ends;
  int told = 0;
  int told_at_first_handler = -1;
  for (int i = 0; i < 3 * ReadinessSet::kBatch; ++i) {
    ends.push_back(std::make_unique<End>(loop));
    ends.back()->then = [&] {
      if (++told == 1) asio::post(loop, [&] { told_at_first_handler = told; });
    };
  }
  Poll(loop);
  EXPECT_EQ(told, 3 * ReadinessSet::kBatch);
  EXPECT_GT(told_at_first_handler, 0);
  EXPECT_LE(told_at_first_handler, ReadinessSet::kBatch);
}

TEST(Readiness, ALoopWithoutSocketsEnds) {
  asio::io_context loop;
  {
    const End end(loop);
    Poll(loop);
    EXPECT_EQ(ReadinessSet::Of(loop).sockets(), 1u);
  }
  EXPECT_EQ(ReadinessSet::Of(loop).sockets(), 0u);
  loop.restart();
  loop.run();
  // The set serves the next socket.
  End next(loop);
  Poll(loop);
  EXPECT_EQ(next.events, 1);
}

// An owner that goes with its loop, as a suspended coroutine does.
class Guest final : public Readiness::Owner {
 public:
  Guest(asio::io_context& loop, int& ends) : ends_(ends), readiness(loop, *this) {}
  void OnReady() override {}
  void OnLoopEnd() override {
    ++ends_;
    const std::unique_ptr<Guest> gone = std::move(self);
  }
  std::unique_ptr<Guest> self;

 private:
  int& ends_;

 public:
  Readiness readiness;
};

TEST(Readiness, TheEndOfTheLoopIsToldToEverySocketAMutedOneToo) {
  std::array<int, 2> pair{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()), 0);
  auto loop = std::make_unique<asio::io_context>();
  int ends = 0;
  for (const int socket : pair) {
    auto guest = std::make_unique<Guest>(*loop, ends);
    ASSERT_FALSE(guest->readiness.Enter(socket, /*connected=*/true));
    if (socket == pair[1]) guest->readiness.Mute();
    Guest& kept = *guest;
    kept.self = std::move(guest);
  }
  Poll(*loop);
  EXPECT_EQ(ends, 0);
  loop.reset();
  EXPECT_EQ(ends, 2);
  for (const int socket : pair) ::close(socket);
}

}  // namespace
}  // namespace penstock
