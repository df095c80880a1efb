// Models that come and go while their engine runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/session/session_world.h"

namespace penstock {
namespace {

constexpr char kModels[] = "/v1/models";

std::string Models(const std::vector<std::string>& names) {
  std::string cards;
  for (const std::string& name : names) {
    cards += (cards.empty() ? "" : ",") + ("{\"id\":\"" + name + "\",\"max_model_len\":4096}");
  }
  return "{\"object\":\"list\",\"data\":[" + cards + "]}";
}

std::string BodyFor(const std::string& model) {
  return R"({"messages":[{"role":"user","content":"a"}],"model":")" + model + "\"}";
}

// Denies every model but "m".
void Deny(EngineCall& call) {
  if (call.request.body.find(R"("model":"m")") != std::string::npos) return call.Answer(200, R"({"choices":[{}]})");
  call.Answer(404, R"({"error":{"message":"The model does not exist.","type":"NotFoundError","code":404}})");
}

std::vector<std::string> NamesIn(SessionWorld& world) {
  std::vector<std::string> names;
  world.Call([&] { names = world.loop().fleet()->book.ModelNames(); });
  return names;
}

using testing::ElementsAre;

class ChangedModels : public testing::Test {
 protected:
  ChangedModels() { engine_.SetPage(kModels, Models({"m", "adapter"})); }
  void Start() {
    world_ = std::make_unique<SessionWorld>(engine_.url());
    ASSERT_TRUE(world_->WaitUp());
    ASSERT_THAT(NamesIn(*world_), ElementsAre("m", "adapter"));
    fleets_ = Fleets();
  }
  size_t Fleets() { return world_->book.Of<FleetChanged>().size(); }
  double Rereads(const std::string& result) {
    const std::string text = world_->edge().telemetry->Serialise(CoreView());
    const size_t at = text.find("penstock_engine_rereads_total{");
    const size_t found = text.find("result=\"" + result + "\"} ", at == std::string::npos ? text.size() : at);
    return found == std::string::npos ? 0 : std::stod(text.substr(text.find("} ", found) + 2));
  }

  ScriptedEngine engine_{Deny};
  std::unique_ptr<SessionWorld> world_;
  size_t fleets_ = 0;
};

TEST_F(ChangedModels, AModelThatTheEngineDeniesIsGoneAtOnceAndANewOneIsThere) {
  Start();
  engine_.SetPage(kModels, Models({"young", "m"}));
  MemoryClient first;
  ASSERT_TRUE(world_->Run(first, BodyFor("adapter")));
  EXPECT_EQ(first.error.status, 404);
  EXPECT_TRUE(Eventually([&] { return NamesIn(*world_) == std::vector<std::string>{"m", "young"}; }));
  const int calls = engine_.calls();
  MemoryClient second;
  ASSERT_TRUE(world_->Run(second, BodyFor("adapter")));
  EXPECT_EQ(second.error.code, "model_not_found");
  EXPECT_EQ(engine_.calls(), calls) << "the engine is not asked for it again";
  EXPECT_EQ(Rereads("changed"), 1);
}

TEST_F(ChangedModels, AnUnchangedListMakesNoNewFleet) {
  Start();
  engine_.SetPage(kModels, Models({"adapter", "m"}));
  MemoryClient client;
  ASSERT_TRUE(world_->Run(client, BodyFor("adapter")));
  EXPECT_TRUE(Eventually([&] { return Rereads("same") == 1; }));
  EXPECT_EQ(Fleets(), fleets_);
}

TEST_F(ChangedModels, AReadingThatFailsOrFindsNothingChangesNothing) {
  for (const std::string& page : {std::string("<html>"), Models({}), std::string()}) {
    Start();
    engine_.SetPage(kModels, page);
    MemoryClient client;
    ASSERT_TRUE(world_->Run(client, BodyFor("adapter")));
    EXPECT_TRUE(Eventually([&] { return Rereads("failed") == 1; })) << page;
    EXPECT_THAT(NamesIn(*world_), ElementsAre("m", "adapter"));
    EXPECT_EQ(Fleets(), fleets_);
    world_.reset();
    engine_.SetPage(kModels, Models({"m", "adapter"}));
  }
}

TEST(ChangedEngine, IsRecognisedWhereItHasOtherPagesAndNotWhereItIsInTrouble) {
  ScriptedEngine engine([](EngineCall& call) { call.wire.Close(); });
  const std::string info = R"({"model_id":"m","max_total_tokens":4096,"version":"3"})";
  engine.SetPage("/info", info);
  Config config = ConfigOf(engine.url());
  config.replicas[0].engine = "";
  SessionWorld world(config);
  ASSERT_TRUE(world.WaitUp());
  const auto kind = [&] {
    EngineKind known = EngineKind::kOpenAi;
    world.Call([&] { known = world.loop().fleet()->book.known(ReplicaId(0)).discovery->kind; });
    return known;
  };
  ASSERT_EQ(kind(), EngineKind::kTgi);
  engine.SetPage("/info", "<html>");
  MemoryClient broken;
  ASSERT_TRUE(world.Run(broken, BodyFor("m")));
  const auto failed = [&] {
    const std::string text = world.edge().telemetry->Serialise(CoreView());
    return text.find("penstock_engine_rereads_total{") != std::string::npos &&
           text.find("result=\"failed\"") != std::string::npos;
  };
  EXPECT_TRUE(Eventually(failed));
  EXPECT_EQ(kind(), EngineKind::kTgi);
  engine.RemovePage("/info");
  MemoryClient again;
  ASSERT_TRUE(world.Run(again, BodyFor("m")));
  EXPECT_TRUE(Eventually([&] { return kind() == EngineKind::kOpenAi; }));
}

TEST_F(ChangedModels, ARunningStreamOfAModelThatVanishedGoesOn) {
  Latch began, go;
  ScriptedEngine engine([&](EngineCall& call) {
    if (call.request.body.find(R"("stream":true)") == std::string::npos) return Deny(call);
    HoldStream(call, began, go);
  });
  engine.SetPage(kModels, Models({"m", "adapter"}));
  SessionWorld world(engine.url());
  ASSERT_TRUE(world.WaitUp());
  MemoryClient running;
  std::future<void> ended =
      world.Begin(running, R"({"model":"adapter","stream":true,"messages":[{"role":"user","content":"a"}]})");
  ASSERT_TRUE(began.Wait());
  engine.SetPage(kModels, Models({"m"}));
  MemoryClient denied;
  ASSERT_TRUE(world.Run(denied, BodyFor("adapter")));
  EXPECT_TRUE(Eventually([&] { return NamesIn(world) == std::vector<std::string>{"m"}; }));
  go.Set();
  ASSERT_EQ(ended.wait_for(kPatience), std::future_status::ready);
  EXPECT_FALSE(running.failed);
  EXPECT_THAT(running.text, testing::HasSubstr("[DONE]"));
}

}  // namespace
}  // namespace penstock
