// The sleep of simulated engines over HTTP, as vLLM's.
#include <gtest/gtest.h>

#include "tests/simulated/fleet_fixture.h"

namespace penstock::simulated {
namespace {

constexpr char kShortChat[] = R"({"model":"llama-3.1-8b","messages":[{"role":"user","content":"Hi"}],"max_tokens":3})";

class SleepPages : public FleetTest {
 protected:
  static Config Sleeper() {
    Config config = OneReplica();
    config.replicas[0].sleep.emplace().wake = Duration::Milliseconds(100);
    return config;
  }
  int Post(const std::string& target, size_t engine = 0) {
    return Connection(Port(engine)).Ask("POST", target, "", {}).status;
  }
  std::string Sleeping(size_t engine = 0) { return Connection(Port(engine)).Ask("GET", "/is_sleeping", "", {}).body; }
};

TEST_F(SleepPages, ExistOnlyWithSleepConfigured) {
  Run(OneReplica());
  EXPECT_EQ(Post("/sleep?level=1"), 404);
  EXPECT_EQ(Ask("GET", "/is_sleeping").status, 404);
}

TEST_F(SleepPages, ASleepingEngineHoldsItsRequestsUntilItIsAwake) {
  Run(Sleeper());
  EXPECT_EQ(Sleeping(), R"({"is_sleeping":false})");
  EXPECT_EQ(Post("/sleep?level=1"), 200);
  EXPECT_EQ(Sleeping(), R"({"is_sleeping":true})");
  EXPECT_EQ(Metric("vllm:engine_sleep_state"), 0) << "the first sample is that of awake";
  Connection client(Port());
  client.Send(RequestText("POST", "/v1/chat/completions", kShortChat));
  while (Metric("vllm:num_requests_waiting") != 1) {
  }
  EXPECT_EQ(Metric("vllm:num_requests_running"), 0);
  EXPECT_EQ(Post("/wake_up"), 200);
  EXPECT_EQ(client.Receive().status, 200);
  EXPECT_EQ(Sleeping(), R"({"is_sleeping":false})");
}

TEST_F(SleepPages, EnginesThatDoNotFitTogetherAreNotAwakeTogether) {
  Config config = Sleeper();
  config.replicas[0].resident = Bytes(60'000'000'000);
  config.replicas.push_back(config.replicas[0]);
  config.replicas[1].id = "chat-b";
  Run(config);
  EXPECT_EQ(Sleeping(0), R"({"is_sleeping":false})");
  EXPECT_EQ(Sleeping(1), R"({"is_sleeping":true})") << "there was no memory left at the start";
  EXPECT_EQ(Post("/wake_up", 1), 500);
  EXPECT_EQ(Post("/sleep?level=1", 0), 200);
  EXPECT_EQ(Post("/wake_up", 1), 200);
  EXPECT_EQ(Post("/wake_up", 0), 500);
}

TEST_F(SleepPages, ATestChoosesHowTheyArePlayed) {
  Run(Sleeper());
  EXPECT_EQ(Post("/simulated/sleep?play=fail"), 200);
  EXPECT_EQ(Post("/sleep?level=1"), 500);
  EXPECT_EQ(Post("/simulated/sleep?play=lie"), 200);
  EXPECT_EQ(Sleeping(), R"({"is_sleeping":true})");
  EXPECT_EQ(Ask("POST", "/v1/chat/completions", kShortChat).status, 200) << "it answers";
  EXPECT_EQ(Post("/simulated/sleep?play=well"), 200);
  EXPECT_EQ(Post("/simulated/sleep?play=else"), 400);
}

}  // namespace
}  // namespace penstock::simulated
