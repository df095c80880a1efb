#include "router/live/mailbox.h"

#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>
#include <vector>

namespace penstock {
namespace {

RequestAction Numbered(uint64_t number) { return Park{RequestId(number), WaitReason::kMemory, 0}; }

TEST(Mailbox, ActionsOfOneThreadArriveInTheirOrder) {
  boost::asio::io_context io;
  std::vector<uint64_t> got;
  Mailbox mailbox(io, [&got](const RequestAction& action) { got.push_back(RequestOf(action).value()); });
  for (uint64_t i = 0; i < 5; ++i) mailbox.Push(Numbered(i));
  EXPECT_TRUE(got.empty()) << "an action is delivered on the loop only";
  io.run();
  EXPECT_EQ(got, (std::vector<uint64_t>{0, 1, 2, 3, 4}));
}

TEST(Mailbox, ManyActionsWakeTheLoopOnce) {
  boost::asio::io_context io;
  int delivered = 0;
  Mailbox mailbox(io, [&delivered](const RequestAction&) { ++delivered; });
  for (uint64_t i = 0; i < 100; ++i) mailbox.Push(Numbered(i));
  EXPECT_EQ(io.run(), 1u);
  EXPECT_EQ(delivered, 100);
  io.restart();
  mailbox.Push(Numbered(7));
  EXPECT_EQ(io.run(), 1u) << "an empty mailbox wakes the loop again";
  EXPECT_EQ(delivered, 101);
}

// The thread of the loop drains its mailbox itself, so nothing has to wake the loop.
TEST(Mailbox, TheThreadOfTheLoopPostsNothing) {
  boost::asio::io_context io;
  int delivered = 0;
  Mailbox mailbox(io, [&delivered](const RequestAction&) { ++delivered; });
  std::thread owner([&] {
    EXPECT_EQ(Mailbox::OfThisThread(), nullptr);
    mailbox.OwnThisThread();
    EXPECT_EQ(Mailbox::OfThisThread(), &mailbox);
    mailbox.Push(Numbered(1));
    EXPECT_EQ(io.run(), 0u);
    EXPECT_EQ(delivered, 0);
    mailbox.Drain();
    EXPECT_EQ(delivered, 1);
  });
  owner.join();
}

TEST(Mailbox, AnActionThatADeliveryCausesIsDeliveredAfterwards) {
  boost::asio::io_context io;
  std::vector<uint64_t> got;
  Mailbox* self = nullptr;
  Mailbox mailbox(io, [&](const RequestAction& action) {
    const uint64_t number = RequestOf(action).value();
    if (number < 2) self->Push(Numbered(number + 10));
    got.push_back(number);
  });
  self = &mailbox;
  mailbox.Push(Numbered(0));
  mailbox.Push(Numbered(1));
  io.run();
  EXPECT_EQ(got, (std::vector<uint64_t>{0, 1, 10, 11}));
}

// A delivery asks the core for more, which drains the mailbox before it returns. The order of decisions stays.
TEST(Mailbox, ADrainWithinADeliveryLeavesItsActionsToTheOneUnderWay) {
  boost::asio::io_context io;
  std::vector<uint64_t> got;
  Mailbox* self = nullptr;
  Mailbox mailbox(io, [&](const RequestAction& action) {
    const uint64_t number = RequestOf(action).value();
    if (number % 10 == 0) {
      self->Push(Numbered(number + 5));
      self->Drain();
    }
    got.push_back(number);
  });
  self = &mailbox;
  for (uint64_t round = 0; round < 3; ++round) {
    mailbox.Push(Numbered(100 * round));
    mailbox.Push(Numbered(100 * round + 1));
    mailbox.Drain();
  }
  EXPECT_EQ(got, (std::vector<uint64_t>{0, 1, 5, 100, 101, 105, 200, 201, 205}));
}

TEST(Mailbox, NoActionOfManyThreadsIsLostOrDoubled) {
  constexpr uint64_t kThreads = 4;
  constexpr uint64_t kEach = 2'000;
  boost::asio::io_context io;
  auto work = boost::asio::make_work_guard(io);
  std::vector<std::vector<uint64_t>> got(kThreads);
  uint64_t left = kThreads * kEach;
  Mailbox mailbox(io, [&](const RequestAction& action) {
    const uint64_t number = RequestOf(action).value();
    got[number / kEach].push_back(number % kEach);
    if (--left == 0) work.reset();
  });
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&mailbox, thread] {
      for (uint64_t i = 0; i < kEach; ++i) mailbox.Push(Numbered(thread * kEach + i));
    });
  }
  io.run();
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<uint64_t>& of_thread : got) {
    ASSERT_EQ(of_thread.size(), kEach);
    for (uint64_t i = 0; i < kEach; ++i) EXPECT_EQ(of_thread[i], i);
  }
}

}  // namespace
}  // namespace penstock
