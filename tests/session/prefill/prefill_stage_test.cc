// The first stage of a request on a pair, at scripted engines: its orders, its ends, and what the core hears.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/session/session_world.h"

namespace penstock {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr char kPairModels[] = R"({"object":"list","data":[{"id":"m","max_model_len":4096,"owned_by":"vllm"}]})";
constexpr char kPairChat[] = R"({"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":9})";
constexpr char kOffer[] = R"({"do_remote_prefill":true,"do_remote_decode":false,"remote_block_ids":[[1]]})";

std::string Computed(const std::string& params) {
  return R"({"choices":[{"index":0,"message":{"content":"t"},"finish_reason":"length"}],)"
         R"("usage":{"prompt_tokens":12,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":4}},)"
         R"("kv_transfer_params":)" +
         params + "}";
}

// Replica 0 decodes, replica 1 has the prompts.
class PairWorld {
 public:
  explicit PairWorld(ScriptedEngine::Script prefill)
      : decode(
            [this](EngineCall& call) {
              decode_body = call.request.body;
              if (fail_decode.exchange(false)) return call.Answer(500, R"({"error":{"message":"no cache"}})");
              call.Answer(200, R"({"choices":[{"index":0,"message":{"content":"b"},"finish_reason":"stop"}],)"
                               R"("usage":{"prompt_tokens":12,"completion_tokens":1}})");
            },
            {{"/v1/models", kPairModels}}),
        prompts(std::move(prefill), {{"/v1/models", kPairModels}}),
        world(Fleet()) {
    world.orders.prefill = 1;
  }
  Config Fleet() const {
    Config config = *ConfigFromUrls("127.0.0.1:0", {decode.url(), prompts.url()});
    config.poll.interval = Duration::Milliseconds(50);
    for (ReplicaConfig& replica : config.replicas) {
      replica.engine = "vllm";
      replica.model = "m";
    }
    config.replicas[0].role = ReplicaRole::kDecode;
    config.replicas[1].role = ReplicaRole::kPrefill;
    return config;
  }
  bool Ask(MemoryClient& client) { return BothUp() && world.Run(client, kPairChat); }
  bool BothUp() {
    return Eventually([this] {
      std::set<ReplicaId> up;
      for (const ReplicaHealth& health : world.book.Of<ReplicaHealth>()) {
        if (health.health == Health::kUp) up.insert(health.replica);
      }
      return up.size() == 2;
    });
  }

  std::atomic<bool> fail_decode{false};
  std::string decode_body;
  ScriptedEngine decode;
  ScriptedEngine prompts;
  SessionWorld world;
};

TEST(PrefillStage, TheOfferGoesToTheDecodeEngine) {
  std::string body;
  PairWorld pair([&body](EngineCall& call) {
    body = call.request.body;
    call.Answer(200, Computed(kOffer));
  });
  MemoryClient client;
  ASSERT_TRUE(pair.Ask(client));
  EXPECT_THAT(client.text, HasSubstr("\"content\":\"b\""));
  EXPECT_EQ(json::parse(body)["max_tokens"], 1);
  EXPECT_EQ(json::parse(pair.decode_body)["kv_transfer_params"], json::parse(kOffer));
  EXPECT_EQ(json::parse(pair.decode_body)["max_tokens"], 9);
  const std::vector<PrefillEnded> ended = pair.world.book.Of<PrefillEnded>();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_TRUE(ended[0].handed_over);
  EXPECT_EQ(ended[0].cached, Tokens(4));
  EXPECT_TRUE(pair.world.book.Of<RequestRequeued>().empty());
}

TEST(PrefillStage, WithoutAnOfferTheDecodeEngineGetsTheRequestAsItCame) {
  for (const char* params : {"null", "[]", R"({"do_remote_decode":true})"}) {
    PairWorld pair([params](EngineCall& call) { call.Answer(200, Computed(params)); });
    MemoryClient client;
    ASSERT_TRUE(pair.Ask(client));
    EXPECT_EQ(pair.decode_body, kPairChat) << params;
    const std::vector<PrefillEnded> ended = pair.world.book.Of<PrefillEnded>();
    ASSERT_EQ(ended.size(), 1u);
    EXPECT_FALSE(ended[0].handed_over) << params;
  }
}

TEST(PrefillStage, ABadRequestIsJudgedByTheDecodeEngine) {
  PairWorld pair([](EngineCall& call) { call.Answer(400, R"({"error":{"message":"bad"}})"); });
  MemoryClient client;
  ASSERT_TRUE(pair.Ask(client));
  EXPECT_FALSE(client.failed);
  EXPECT_EQ(pair.world.book.Of<PrefillEnded>().size(), 1u);
}

TEST(PrefillStage, AnEngineThatFailsGivesTheRequestBackAndIsNamed) {
  PairWorld pair([&](EngineCall& call) { call.Answer(500, R"({"error":{"message":"broken"}})"); });
  ASSERT_TRUE(pair.BothUp());
  // The second attempt has one engine.
  pair.world.orders.prefill_once = true;
  MemoryClient client;
  ASSERT_TRUE(pair.Ask(client));
  EXPECT_FALSE(client.failed);
  const std::vector<RequestRequeued> returned = pair.world.book.Of<RequestRequeued>();
  ASSERT_EQ(returned.size(), 1u);
  EXPECT_TRUE(returned[0].in_prefill);
  EXPECT_TRUE(returned[0].avoid_replica);
  EXPECT_TRUE(pair.world.book.Of<PrefillEnded>().empty());
}

TEST(PrefillStage, ACacheThatFailsItsDecodeEngineFailsTheRequestOnceAtMost) {
  PairWorld pair([](EngineCall& call) { call.Answer(200, Computed(kOffer)); });
  pair.fail_decode = true;
  MemoryClient client;
  ASSERT_TRUE(pair.Ask(client));
  EXPECT_FALSE(client.failed);
  EXPECT_EQ(pair.prompts.calls(), 1) << "the second time the decode engine computes the prompt";
  EXPECT_EQ(pair.decode.calls(), 2);
  const std::vector<PrefillEnded> ended = pair.world.book.Of<PrefillEnded>();
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_FALSE(ended[1].handed_over);
}

TEST(PrefillStage, AClientThatLeavesEndsItAtTheEngine) {
  Latch at_engine;
  std::atomic<bool> closed{false};
  PairWorld pair([&](EngineCall& call) {
    at_engine.Set();
    closed = call.wire.WaitClosed();
  });
  ASSERT_TRUE(pair.BothUp());
  MemoryClient client;
  std::future<void> end = pair.world.Begin(client, kPairChat);
  ASSERT_TRUE(at_engine.Wait());
  pair.world.Call([&client] { client.Go(); });
  ASSERT_EQ(end.wait_for(kPatience), std::future_status::ready);
  EXPECT_TRUE(Eventually([&closed] { return closed.load(); }));
  EXPECT_EQ(pair.decode.calls(), 0);
  const std::vector<RequestClosed> gone = pair.world.book.Of<RequestClosed>();
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0].outcome, Outcome::kClientGone);
}

}  // namespace
}  // namespace penstock
