#include "backends/transport/readiness.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <string>

namespace penstock {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using boost::system::error_code;

// Two ends on loopback; `near` is read.
class WaitForEdge : public testing::Test {
 protected:
  WaitForEdge() : near(loop), far(loop) {
    tcp::acceptor acceptor(loop, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    far.connect(acceptor.local_endpoint());
    acceptor.accept(near);
    near.non_blocking(true);
    TellLeftInput(near.native_handle());
  }

  std::string Read(size_t most = 1000) {
    std::string text(most, ' ');
    text.resize(ReadNow(near.native_handle(), asio::buffer(text), more, error));
    return text;
  }
  void Wait() {
    AsyncWaitEdge(near, [this](const error_code& ec, size_t) {
      ++told;
      told_error = ec;
    });
  }
  // Runs until a handler has been called.
  void RunOne() {
    loop.restart();
    const int before = told;
    while (told == before && loop.run_one() > 0) continue;
  }
  int RunReady() {
    loop.restart();
    const int before = told;
    loop.poll();
    return told - before;
  }
  // The first wait of a socket tells at once.
  void PassFirst() {
    Wait();
    RunOne();
    EXPECT_EQ(Read(), "");
    EXPECT_EQ(error, asio::error::would_block);
  }

  asio::io_context loop;
  tcp::socket near;
  tcp::socket far;
  bool more = false;
  error_code error;
  int told = 0;
  error_code told_error;
};

TEST_F(WaitForEdge, AReadTellsWhetherItTookAll) {
  asio::write(far, asio::buffer(std::string("abcdef")));
  EXPECT_EQ(Read(4), "abcd");
  EXPECT_TRUE(more);
  EXPECT_EQ(Read(4), "ef");
  EXPECT_FALSE(more);
  EXPECT_EQ(Read(4), "");
  EXPECT_EQ(error, asio::error::would_block);
  EXPECT_FALSE(more);
}

TEST_F(WaitForEdge, AnEndThatCameWithTheLastBytesIsTold) {
  asio::write(far, asio::buffer(std::string("abc")));
  far.shutdown(tcp::socket::shutdown_send);
  EXPECT_EQ(Read(), "abc");
  EXPECT_TRUE(more);
  EXPECT_EQ(Read(), "");
  EXPECT_EQ(error, asio::error::eof);
}

TEST_F(WaitForEdge, EveryArrivalEndsOneWait) {
  PassFirst();
  for (int i = 0; i < 3; ++i) {
    Wait();
    EXPECT_EQ(RunReady(), 0);
    asio::write(far, asio::buffer(std::string("abc")));
    RunOne();
    EXPECT_FALSE(told_error);
    EXPECT_EQ(Read(), "abc");
    EXPECT_FALSE(more);
  }
}

TEST_F(WaitForEdge, WhatArrivesBetweenTwoWaitsEndsTheSecond) {
  PassFirst();
  asio::write(far, asio::buffer(std::string("abc")));
  Wait();
  RunOne();
  EXPECT_EQ(Read(), "abc");
}

TEST_F(WaitForEdge, TheEndOfTheStreamEndsAWait) {
  PassFirst();
  Wait();
  far.shutdown(tcp::socket::shutdown_send);
  RunOne();
  EXPECT_EQ(Read(), "");
  EXPECT_EQ(error, asio::error::eof);
}

TEST_F(WaitForEdge, ACancelledWaitIsToldSo) {
  PassFirst();
  Wait();
  near.cancel();
  RunOne();
  EXPECT_EQ(told_error, asio::error::operation_aborted);
  // The next one waits for what is still to come.
  Wait();
  EXPECT_EQ(RunReady(), 0);
  asio::write(far, asio::buffer(std::string("abc")));
  RunOne();
  EXPECT_FALSE(told_error);
}

TEST_F(WaitForEdge, AClosedSocketIsAnErrorAndNoWait) {
  near.close();
  EXPECT_EQ(Read(), "");
  EXPECT_TRUE(error);
  EXPECT_NE(error, asio::error::would_block);
}

}  // namespace
}  // namespace penstock
