// The simulated engine over HTTP in llama-server's dialect, with its shared pool.
#include <deque>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/simulated/fleet_fixture.h"

namespace penstock::simulated {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kCompletions[] = "/v1/completions";

class LlamaFace : public FleetTest {
 protected:
  void SetUp() override {
    Config config = OneReplica();
    config.replicas[0].kv_tokens = Tokens(1024);
    config.replicas[0].simulated->overflow_error = true;
    config.replicas[0].simulated->max_seqs = 4;
    Run(config);
  }
};

TEST_F(LlamaFace, AnExhaustedPoolFailsEveryRunningRequest) {
  const auto request = [](bool stream) {
    return RequestText("POST", kCompletions, json{{"prompt", "Hello"}, {"max_tokens", 600}, {"stream", stream}}.dump());
  };
  std::deque<Connection> connections;
  for (const bool stream : {true, false, true}) {
    connections.emplace_back(Port());
    connections.back().Send(request(stream));
  }
  const Reply streamed = connections[0].Receive();
  const Reply whole = connections[1].Receive();
  EXPECT_EQ(streamed.status, 200);
  EXPECT_EQ(json::parse(streamed.Events().back())["error"]["message"], "Context size has been exceeded.");
  EXPECT_THAT(streamed.body, Not(HasSubstr("[DONE]")));
  EXPECT_EQ(whole.status, 500);
  EXPECT_EQ(whole.Json(), json::parse(R"({"error":{"code":500,"message":"Context size has been exceeded.",
                                        "type":"server_error"}})"));
  EXPECT_EQ(connections[2].Receive().status, 200);
  EXPECT_EQ(Metric("llamacpp:requests_processing"), 0);
  EXPECT_EQ(Ask("POST", kCompletions, R"({"prompt": "Hello", "max_tokens": 3})").status, 200);
}

TEST_F(LlamaFace, StreamsOfCompletionsAlwaysHaveUsageAndCloseTheConnection) {
  Connection connection(Port());
  const Reply reply = connection.Ask("POST", kCompletions, R"({"prompt": "Hello", "max_tokens": 3, "stream": true})");
  const std::vector<std::string> events = reply.Events();
  ASSERT_THAT(events, SizeIs(5));
  EXPECT_EQ(json::parse(events[3])["usage"]["completion_tokens"], 3);
  EXPECT_EQ(json::parse(events[3])["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(events[4], "[DONE]");
  EXPECT_TRUE(connection.ClosedByServer());
}

TEST_F(LlamaFace, StatusPagesTellSlotsAndContext) {
  EXPECT_EQ(Ask("GET", "/health").Json(), json::parse(R"({"status":"ok"})"));
  const json props = Ask("GET", "/props").Json();
  EXPECT_EQ(props["total_slots"], 4);
  EXPECT_EQ(props["default_generation_settings"]["n_ctx"], 1024);
  EXPECT_EQ(Ask("GET", "/v1/models").Json()["data"][0]["meta"]["n_ctx"], 1024);
  const json slots = Ask("GET", "/slots").Json();
  ASSERT_THAT(slots, SizeIs(4));
  EXPECT_EQ(slots[0]["is_processing"], false);
  EXPECT_THAT(Ask("GET", "/metrics").body, HasSubstr("\nllamacpp:requests_deferred 0\n"));
}

TEST_F(LlamaFace, ErrorsAreLlamaServers) {
  const Reply long_prompt = Ask("POST", kCompletions, json{{"prompt", std::string(20'000, 'a')}}.dump());
  EXPECT_EQ(long_prompt.status, 400);
  EXPECT_EQ(long_prompt.Json()["error"]["type"], "exceed_context_size_error");
  EXPECT_EQ(long_prompt.Json()["error"]["n_ctx"], 1024);
  EXPECT_EQ(Ask("POST", kCompletions, "{\"prompt\": ").status, 500);
  EXPECT_EQ(Ask("GET", "/v1/nothing").Json()["error"]["message"], "File Not Found");
  EXPECT_EQ(Ask("GET", kCompletions).status, 404);
  EXPECT_EQ(Ask("POST", kCompletions, R"({"prompt": "x", "n": 5})").status, 400);
  EXPECT_EQ(Ask("POST", kCompletions, R"({"prompt": "x", "max_tokens": -5})").status, 400);
}

TEST_F(LlamaFace, AnyModelNameIsServedAndZeroTokensAreOne) {
  const json answer =
      Ask("POST", kCompletions, R"({"prompt": "Hello", "max_tokens": 0, "model": "no-such-model"})").Json();
  EXPECT_EQ(answer["model"], "llama-3.1-8b");
  EXPECT_EQ(answer["usage"]["completion_tokens"], 1);
}

TEST_F(FleetTest, ALlamaSlotTellsWhatItHolds) {
  Config config = OneReplica();
  config.replicas[0].simulated->overflow_error = true;
  config.replicas[0].simulated->max_seqs = 2;
  config.replicas[0].simulated->time_scale = 1;
  Run(config);
  Connection connection(Port());
  connection.Send(RequestText("POST", kCompletions, R"({"prompt": "Hello", "max_tokens": 9000, "stream": true})"));
  connection.ReadUntil("data: ", 5);
  const json slot = Ask("GET", "/slots").Json()[0];
  EXPECT_EQ(slot["is_processing"], true);
  EXPECT_GE(slot["next_token"][0]["n_decoded"], 5);
  EXPECT_GE(slot["n_prompt_tokens"], 6);
  EXPECT_EQ(slot["params"]["max_tokens"], 9000);
  connection.Close();
  EXPECT_TRUE(Becomes("llamacpp:requests_processing", 0));
}

}  // namespace
}  // namespace penstock::simulated
