// Replicas that sleep and wake by the orders of a core, from the order to the event of its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/http/test_server.h"

namespace penstock {
namespace {

// One replica that sleeps by requests of its engine, which is simulated inside the router.
void Simulated(Config& config, Duration wake) {
  const auto parsed = ParseConfig(
      "gpus: [{id: g, kind: a100-80}]\n"
      "replicas: [{id: a, gpus: [g], model: llama-3.1-8b, sleep: {}, simulated: {}}]\n",
      "f.yaml");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  config.gpus = parsed->gpus;
  config.replicas = parsed->replicas;
  config.replicas[0].sleep->wake = wake;
}

ReplicaSleepConfig Commands(const std::string& start, const std::string& stop) {
  ReplicaSleepConfig sleep;
  sleep.by = SleepBy::kCommand;
  sleep.start = start;
  sleep.stop = stop;
  sleep.timeout = Duration::Seconds(20);
  return sleep;
}

// The core sees an order with its next event. The engine may be silent, so a client that waits in the core makes
// events.
struct Clockwork {
  explicit Clockwork(TestServer& router) : router_(router), client_(router.Connect()) {
    router.orders.hold = true;
    client_->Send(StreamRequest());
  }
  ~Clockwork() { router_.orders.hold = false; }
  TestServer& router_;
  std::unique_ptr<Wire> client_;
};
void OrderWake(TestServer& router) {
  const Clockwork clockwork(router);
  router.orders.wake = true;
  EXPECT_TRUE(Eventually([&] { return !router.orders.wake; }));
}

// The newest residency that the core knows, once there are `count`.
std::optional<ReplicaResidency> Told(TestServer& router, size_t count) {
  if (!Eventually([&] { return router.book.Of<ReplicaResidency>().size() >= count; })) return std::nullopt;
  return router.book.Of<ReplicaResidency>().back();
}

TEST(SleepingReplicas, AnOrderIsCarriedOutAndItsEndIsAnEvent) {
  TestServer router({"http://127.0.0.1:1"}, [](Config& config) { Simulated(config, Duration::Milliseconds(300)); });
  ASSERT_TRUE(router.WaitUp());
  router.orders.sleep = true;
  auto told = Told(router, 1);
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->residency, Residency::kAsleep);
  EXPECT_FALSE(told->failed);
  EXPECT_EQ(router.Metric("penstock_sleeps_total{replica=\"a\",result=\"ok\"}"), 1);
  EXPECT_EQ(router.Ask(Get("/readyz")).status(), 200) << "a request would be served after a wake";
  router.orders.wake = true;
  told = Told(router, 2);
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->residency, Residency::kAwake);
  EXPECT_GE(told->took, Duration::Milliseconds(300));
  EXPECT_EQ(router.Metric("penstock_wakes_total{replica=\"a\",result=\"ok\"}"), 1);
  EXPECT_EQ(router.Metric("penstock_wake_seconds_count{replica=\"a\"}"), 1);
}

TEST(SleepingReplicas, AnOrderToBeWhatItIsEndsAtOnce) {
  TestServer router({"http://127.0.0.1:1"}, [](Config& config) { Simulated(config, Duration::Seconds(60)); });
  ASSERT_TRUE(router.WaitUp());
  router.orders.wake = true;
  const auto told = Told(router, 1);
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(*told, (ReplicaResidency{ReplicaId(0), Residency::kAwake, false, Duration()}));
}

TEST(SleepingReplicas, AnEngineWithoutRequestsForItStaysAwakeAndTheCoreIsToldThatItNeverSleeps) {
  ScriptedEngine engine([](EngineCall& call) { AnswerStream(call, 1); });
  TestServer router({engine.url()}, [](Config& config) { config.replicas[0].sleep.emplace(); });
  ASSERT_TRUE(router.WaitUp());
  EXPECT_FALSE(router.book.Of<FleetChanged>().back().fleet.replicas[0].sleep.has_value());
  router.orders.sleep = true;
  const auto told = Told(router, 1);
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->residency, Residency::kAwake);
  EXPECT_TRUE(told->failed);
  EXPECT_EQ(router.Ask(StreamRequest()).status(), 200);
}

TEST(SleepingReplicas, AnEngineThatRunsRequestsOfOthersIsLeftAwake) {
  auto pages = ScriptedEngine::DefaultPages();
  pages["/metrics"] = "vllm:num_requests_running 2\nvllm:num_requests_waiting 0\n";
  pages["/is_sleeping"] = R"({"is_sleeping":false})";
  ScriptedEngine engine([](EngineCall& call) { call.Answer(500, "nobody asked for this"); }, pages);
  TestServer router({engine.url()}, [](Config& config) {
    config.replicas[0].id = "a";
    config.replicas[0].engine = "vllm";
    config.replicas[0].sleep.emplace();
  });
  ASSERT_TRUE(router.WaitUp());
  ASSERT_TRUE(
      Eventually([&] { return router.Metric("penstock_engine_polls_total{replica=\"a\",result=\"ok\"}") >= 2; }));
  router.orders.sleep = true;
  const auto told = Told(router, 1);
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->residency, Residency::kAwake);
  EXPECT_TRUE(told->failed);
  EXPECT_EQ(engine.calls(), 0) << "it got no verb";
  EXPECT_EQ(router.Metric("penstock_sleeps_total{replica=\"a\",result=\"busy\"}"), 1);
}

TEST(SleepingReplicas, AnEngineThatACommandStoppedIsAsleepAndNotDown) {
  auto engine = std::make_unique<ScriptedEngine>([](EngineCall& call) { AnswerStream(call, 1); });
  const uint16_t port = engine->port();
  TestServer router({engine->url()}, [](Config& config) {
    config.replicas[0].model = "m";
    config.replicas[0].sleep = Commands("true", "true");
  });
  ASSERT_TRUE(router.WaitUp());
  router.orders.sleep = true;
  ASSERT_TRUE(Eventually([&] { return !router.orders.sleep; }));
  engine.reset();
  auto told = Told(router, 1);
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->residency, Residency::kAsleep);
  EXPECT_EQ(router.book.Of<ReplicaHealth>().size(), 1u) << "it never was down";
  EXPECT_NE(router.Ask(Get("/v1/models")).body.find("\"m\""), std::string::npos) << "clients see its model";
  OrderWake(router);
  engine = std::make_unique<ScriptedEngine>([](EngineCall& call) { AnswerStream(call, 1); },
                                            ScriptedEngine::DefaultPages(), port);
  told = Told(router, 2);
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->residency, Residency::kAwake);
  EXPECT_FALSE(told->failed);
  EXPECT_EQ(router.Ask(StreamRequest()).status(), 200);
}

TEST(SleepingReplicas, AnEngineThatDoesNotRunAtTheStartIsAsleepWhereACommandCanStartIt) {
  uint16_t port = 0;
  {
    port = ScriptedEngine([](EngineCall&) {}).port();
  }
  TestServer router({"http://127.0.0.1:" + std::to_string(port)}, [](Config& config) {
    config.replicas[0].model = "m";
    config.replicas[0].sleep = Commands("echo no memory; exit 3", "true");
  });
  auto told = Told(router, 1);
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->residency, Residency::kAsleep);
  ASSERT_TRUE(router.WaitUp());
  OrderWake(router);
  told = Told(router, 2);
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->residency, Residency::kAsleep);
  EXPECT_TRUE(told->failed);
  EXPECT_EQ(router.Metric("penstock_wakes_total{replica=\"" + router.config.replicas[0].id + "\",result=\"command\"}"),
            1);
}

TEST(SleepingReplicas, AReplicaThatMaySleepNoMoreIsWoken) {
  TestServer router({"http://127.0.0.1:1"}, [](Config& config) { Simulated(config, Duration::Milliseconds(100)); });
  ASSERT_TRUE(router.WaitUp());
  router.orders.sleep = true;
  ASSERT_TRUE(Told(router, 1).has_value());
  Config fresh = router.config;
  fresh.replicas[0].sleep.reset();
  ASSERT_TRUE(router.server->Reload(fresh).ok());
  const auto told = Told(router, 2);
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->residency, Residency::kAwake);
}

TEST(SleepingReplicas, ARouterEndsWhileAWakeIsUnderWay) {
  TestServer router({"http://127.0.0.1:1"}, [](Config& config) { Simulated(config, Duration::Seconds(200)); });
  ASSERT_TRUE(router.WaitUp());
  router.orders.sleep = true;
  ASSERT_TRUE(Told(router, 1).has_value());
  router.orders.wake = true;
  ASSERT_TRUE(Eventually([&] { return !router.orders.wake; }));
  router.server->Stop();
  EXPECT_EQ(router.book.Of<ReplicaResidency>().size(), 1u);
}

}  // namespace
}  // namespace penstock
