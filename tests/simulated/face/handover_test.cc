// Simulated engines that hand caches over by kv_transfer_params, as vLLM's connectors do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulated/vllm_face.h"

namespace penstock::simulated {
namespace {

using nlohmann::json;

class HandoverFace : public FleetTest {
 protected:
  void SetUp() override {
    Config config = OneReplica();
    config.replicas[0].simulated->time_scale = 10;
    config.replicas.push_back(config.replicas[0]);
    config.replicas[1].id = "chat-b";
    config.replicas[0].role = ReplicaRole::kPrefill;
    config.replicas[1].role = ReplicaRole::kDecode;
    Run(config);
  }
  json ChatWith(const json& params, int64_t limit) {
    json chat = Chat(std::string(4000, 'x') + " and more words");
    chat["max_tokens"] = limit;
    chat["kv_transfer_params"] = params;
    return chat;
  }
  Reply AskEngine(size_t engine, const json& body) {
    return Connection(Port(engine)).Ask("POST", kChat, body.dump(), {{"x-request-id", "r-1"}});
  }
  json Offer() {
    const Reply reply = AskEngine(0, ChatWith({{"do_remote_decode", true}}, 1));
    EXPECT_EQ(reply.status, 200) << reply.body;
    return json::parse(reply.body)["kv_transfer_params"];
  }
};

TEST_F(HandoverFace, APrefillEngineKeepsTheCacheAndSaysWhere) {
  const json offer = Offer();
  EXPECT_EQ(offer["do_remote_prefill"], true);
  EXPECT_EQ(offer["do_remote_decode"], false);
  EXPECT_EQ(offer["remote_engine_id"], "chat-a");
  EXPECT_EQ(offer["remote_port"], Port(0));
  EXPECT_EQ(offer["remote_block_ids"][0].size(), (offer["remote_num_tokens"].get<size_t>() + 15) / 16);
  EXPECT_GT(Metric("vllm:kv_cache_usage_perc"), 0);
}

TEST_F(HandoverFace, ADecodeEngineFetchesItOnceAndAnswersAsEver) {
  const json plain = json::parse(AskEngine(1, ChatWith(nullptr, 6)).body);
  const json offer = Offer();
  const Reply reply = AskEngine(1, ChatWith(offer, 6));
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(json::parse(reply.body)["choices"], plain["choices"]);
  EXPECT_EQ(json::parse(reply.body)["usage"], plain["usage"]);
  EXPECT_EQ(Metric("vllm:kv_cache_usage_perc"), 0) << "the prefill engine is free";
  EXPECT_EQ(AskEngine(1, ChatWith(offer, 6)).status, 500) << "the cache is gone";
}

TEST_F(HandoverFace, ACacheThatNobodyKeepsIsAnError) {
  json offer = Offer();
  for (const auto& [field, value] : {std::pair<const char*, json>{"remote_request_id", "other"},
                                     {"remote_port", 1},
                                     {"remote_host", "no address"}}) {
    json bad = offer;
    bad[field] = value;
    EXPECT_EQ(AskEngine(1, ChatWith(bad, 6)).status, 500) << field;
  }
}

TEST_F(HandoverFace, WithoutAPlaceTheEngineComputesThePrompt) {
  EXPECT_EQ(AskEngine(1, ChatWith({{"do_remote_prefill", true}}, 6)).status, 200);
  EXPECT_EQ(AskEngine(1, ChatWith("text", 6)).status, 400);
}

TEST_F(HandoverFace, ACacheThatNobodyFetchesIsFreeBehindItsLease) {
  Offer();
  EXPECT_TRUE(Becomes("vllm:kv_cache_usage_perc", 0)) << "30 s of simulated time are 3 s";
}

TEST(HandoverOfPlainEngines, IsNoneWithoutARole) {
  const Config config = OneReplica();
  auto fleet = SimulatedFleet::Create(config, SimulatedFleet::Which::kWithoutUrl);
  ASSERT_TRUE(fleet.ok());
  ASSERT_TRUE((*fleet)->Start().ok());
  json chat = Chat("Hi");
  chat["max_tokens"] = 1;
  chat["kv_transfer_params"] = {{"do_remote_decode", true}};
  const Reply reply = Connection((*fleet)->engines()[0].port).Ask("POST", kChat, chat.dump(), {});
  EXPECT_EQ(reply.status, 200);
  EXPECT_FALSE(json::parse(reply.body).contains("kv_transfer_params"));
}

}  // namespace
}  // namespace penstock::simulated
