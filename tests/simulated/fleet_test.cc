// Simulated engines over HTTP: time, cancellation, shared GPUs, start and stop.
#include <chrono>
#include <string>

#include "gmock/gmock.h"
#include "tests/simulated/fleet_fixture.h"

namespace penstock::simulated {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr char kCompletionsPath[] = "/v1/completions";

class RealTimeEngine : public FleetTest {
 protected:
  void SetUp() override {
    Config config = OneReplica();
    config.replicas[0].simulated->time_scale = 1;
    config.replicas[0].simulated->max_seqs = 1;
    Run(config);
  }

  // A request that would run for minutes.
  static std::string Endless(bool stream) {
    const json body = {{"prompt", "Hello"}, {"stream", stream}};
    return RequestText("POST", kCompletionsPath, body.dump(), {{"x-simulated-output-tokens", "15000"}});
  }
};

TEST_F(RealTimeEngine, AStreamThatIsClosedIsAbortedAtOnce) {
  Connection connection(Port());
  connection.Send(Endless(true));
  connection.ReadUntil("data: ", 3);
  EXPECT_EQ(Metric("vllm:num_requests_running"), 1);
  EXPECT_GT(Metric("vllm:kv_cache_usage_perc"), 0);
  connection.Close();
  EXPECT_TRUE(Becomes("vllm:num_requests_running", 0));
  EXPECT_EQ(Metric("vllm:kv_cache_usage_perc"), 0);
}

TEST_F(RealTimeEngine, RunningAndWaitingRequestsWithoutAStreamAreAbortedToo) {
  Connection running(Port());
  running.Send(Endless(false));
  ASSERT_TRUE(Becomes("vllm:num_requests_running", 1));
  Connection waiting(Port());
  waiting.Send(Endless(false));
  ASSERT_TRUE(Becomes("vllm:num_requests_waiting", 1));
  waiting.Close();
  EXPECT_TRUE(Becomes("vllm:num_requests_waiting", 0));
  running.Close();
  EXPECT_TRUE(Becomes("vllm:num_requests_running", 0));
  EXPECT_EQ(Metric("vllm:request_success_total{engine=\"0\",model_name=\"llama-3.1-8b\",finished_reason=\"abort\"}"),
            2);
}

TEST_F(RealTimeEngine, StoppingEndsEverythingWithinASecond) {
  Connection streamed(Port());
  streamed.Send(Endless(true));
  streamed.ReadUntil("data: ", 2);
  Connection waiting(Port());
  waiting.Send(Endless(false));
  ASSERT_TRUE(Becomes("vllm:num_requests_waiting", 1));
  const auto before = std::chrono::steady_clock::now();
  fleet_->Stop();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(1));
  EXPECT_TRUE(waiting.ClosedByServer());
}

TEST_F(RealTimeEngine, StepsTakeTheTimeOfTheModel) {
  Connection connection(Port());
  const auto before = std::chrono::steady_clock::now();
  connection.Ask("POST", kCompletionsPath, R"({"prompt": "Hello", "max_tokens": 40})");
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before).count();
  const StepCoefficients step = StepPrior(*FindGpuKind("a100-80"), *FindBuiltinShape("llama-3.1-8b"), {});
  EXPECT_GT(ms, 39 * step.DecodeMs(1, 0));
  EXPECT_LT(ms, 60 * step.StepMs(1, 100, PrefillOf(Tokens(0), Tokens(100))));
}

TEST_F(FleetTest, ColocatedReplicasSlowEachOther) {
  Config config = OneReplica();
  config.replicas[0].simulated->time_scale = 2;
  config.replicas.push_back(config.replicas[0]);
  config.replicas[1].id = "chat-b";
  Run(config);
  const json body = {{"prompt", "x"}, {"max_tokens", 60}};
  const auto seconds = [&](bool beside) {
    Connection other(Port(1));
    if (beside) other.Send(RequestText("POST", kCompletionsPath, json{{"prompt", "y"}, {"max_tokens", 15'000}}.dump()));
    const auto before = std::chrono::steady_clock::now();
    Ask("POST", kCompletionsPath, body.dump());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  };
  const double alone = seconds(false);
  EXPECT_GT(seconds(true), alone * 1.6);
}

TEST_F(FleetTest, ReplicasOnDifferentGpusRunApart) {
  Config config = OneReplica();
  config.gpus.push_back(config.gpus[0]);
  config.gpus[1].id = "gpu1";
  config.replicas.push_back(config.replicas[0]);
  config.replicas[1].id = "chat-b";
  config.replicas[1].gpus = {"gpu1"};
  Run(config);
  EXPECT_NE(Port(0), Port(1));
  EXPECT_EQ(Connection(Port(1)).Ask("GET", "/health").status, 200);
}

TEST_F(FleetTest, AnAddressInUseIsAnError) {
  Run(OneReplica());
  Config config = OneReplica();
  config.replicas[0].url = fleet_->engines()[0].Url();
  auto second = SimulatedFleet::Create(config, SimulatedFleet::Which::kWithUrl);
  ASSERT_TRUE(second.ok());
  EXPECT_FALSE((*second)->Start().ok());
}

TEST_F(FleetTest, AnUnknownShapeIsAnError) {
  Config config = OneReplica();
  config.replicas[0].model = "nobody-knows-this";
  const auto fleet = SimulatedFleet::Create(config, SimulatedFleet::Which::kAll);
  EXPECT_THAT(std::string(fleet.status().message()), HasSubstr("nobody-knows-this"));
}

TEST_F(FleetTest, ASlowdownMultipliesEveryStep) {
  Config config = OneReplica();
  config.replicas[0].simulated->slowdown.factor = 20;
  config.replicas[0].simulated->time_scale = 10;
  Run(config);
  const auto before = std::chrono::steady_clock::now();
  Ask("POST", kCompletionsPath, json{{"prompt", "x"}, {"max_tokens", 11}}.dump());
  EXPECT_GT(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(10 * 20));
}

}  // namespace
}  // namespace penstock::simulated
