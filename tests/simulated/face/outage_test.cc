// The death and return of a simulated engine, and the sleep that it takes by itself, in real time.
#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/simulated/fleet_fixture.h"

namespace penstock::simulated {
namespace {

constexpr char kAsk[] = R"({"model":"llama-3.1-8b","messages":[{"role":"user","content":"Hi"}],"max_tokens":3})";

class Outage : public FleetTest {
 protected:
  // True once a new connection is refused, or accepted, as wanted; within five seconds.
  bool Answers(bool wanted) {
    const Instant end = Now() + Duration::Seconds(5);
    boost::asio::io_context context;
    while (Now() < end) {
      boost::asio::ip::tcp::socket socket(context);
      boost::system::error_code error;
      socket.connect({boost::asio::ip::make_address("127.0.0.1"), Port()}, error);
      if (!error == wanted) return true;
    }
    return false;
  }
};

TEST_F(Outage, AnEngineDiesAndComesBackWithoutWhatItHad) {
  Config config = OneReplica();
  // A hundred times faster: from 1.5 s to 2.5 s after the start. A busy machine asks before, and sees the outage.
  config.replicas[0].simulated->outage = OutageConfig{Duration::Seconds(150), Duration::Seconds(250)};
  Run(config);
  EXPECT_EQ(Ask("POST", "/v1/chat/completions", kAsk).status, 200);
  EXPECT_TRUE(Answers(false));
  EXPECT_TRUE(Answers(true));
  EXPECT_EQ(Metric("vllm:prompt_tokens_total"), 0) << "its counters begin again";
  EXPECT_EQ(Ask("POST", "/v1/chat/completions", kAsk).status, 200);
}

TEST_F(Outage, ADeadEngineClosesTheConnectionsOfItsRequests) {
  Config config = OneReplica();
  config.replicas[0].simulated->time_scale = 1;
  config.replicas[0].simulated->outage = OutageConfig{Duration::Milliseconds(200), Duration::Infinite()};
  Run(config);
  Connection client(Port());
  client.Send(RequestText("POST", "/v1/chat/completions",
                          R"({"model":"llama-3.1-8b","messages":[{"role":"user","content":"Hi"}],"max_tokens":5000})"));
  const Instant sent = Now();
  EXPECT_EQ(client.Receive().status, -1);
  EXPECT_LT(Now() - sent, Duration::Seconds(10)) << "the answer would take a minute";
}

TEST_F(Outage, AnEngineThatWasIdleWakesForARequest) {
  Config config = OneReplica();
  config.replicas[0].simulated->time_scale = 10;
  config.replicas[0].simulated->sleep = SleepConfig{Duration::Seconds(1), Duration::Seconds(4)};
  Run(config);
  const Instant asked = Now();
  EXPECT_EQ(Ask("POST", "/v1/chat/completions", kAsk).status, 200);
  EXPECT_LT(Now() - asked, Duration::Milliseconds(300)) << "it was not idle yet";
  const Instant idle_until = Now() + Duration::Milliseconds(150);
  while (Now() < idle_until) std::this_thread::yield();
  const Instant again = Now();
  EXPECT_EQ(Ask("POST", "/v1/chat/completions", kAsk).status, 200);
  EXPECT_GE(Now() - again, Duration::Milliseconds(400)) << "it had to wake";
}

}  // namespace
}  // namespace penstock::simulated
