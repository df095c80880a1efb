// Start, readiness, reload, bounds of connections and memory, keys.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/http/test_server.h"

namespace penstock {
namespace {

TEST(ServerLife, ItIsReadyOnceAReplicaIsUp) {
  ScriptedEngine engine([](EngineCall&) {});
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  EXPECT_EQ(router.Ask(Get("/readyz")).status(), 200);
  EXPECT_EQ(router.Ask(Get("/healthz")).status(), 200);
}

TEST(ServerLife, MetricsAreServed) {
  ScriptedEngine engine([](EngineCall& call) { AnswerStream(call, 2); });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  router.Ask(StreamRequest());
  ASSERT_TRUE(router.AllClosed(1));
  ASSERT_TRUE(Eventually([&] { return router.server->active_requests() == 0; }));
  const WireMessage metrics = router.Ask(Get("/metrics"));
  EXPECT_EQ(metrics.status(), 200);
  EXPECT_NE(metrics.body.find("outcome=\"ok\""), std::string::npos);
}

TEST(ServerLife, AnAdminListenerTakesTheStatusPagesAlong) {
  ScriptedEngine engine([](EngineCall&) {});
  TestServer router({engine.url()}, [](Config& config) { config.admin_listen = "127.0.0.1:0"; });
  ASSERT_TRUE(router.WaitUp());
  EXPECT_EQ(router.Ask(Get("/metrics")).status(), 404);
  EXPECT_EQ(router.Ask(PostJson("/metrics", "")).status(), 404);
  EXPECT_EQ(router.Ask(PostJson("/ping", "")).status(), 405);
  const std::string admin = router.server->admin_address();
  const auto wire = Wire::Connect(static_cast<uint16_t>(std::stoi(admin.substr(admin.rfind(':') + 1))));
  ASSERT_NE(wire, nullptr);
  wire->Send(Get("/metrics"));
  EXPECT_EQ(ReadMessage(*wire).status(), 200);
  wire->Send(Get("/v1/models"));
  EXPECT_EQ(ReadMessage(*wire).status(), 404);
}

TEST(ServerLife, AnAddressWithoutAHostIsNamedAsEveryInterface) {
  ScriptedEngine engine([](EngineCall&) {});
  TestServer router({engine.url()}, [](Config& config) { config.listen = ":0"; });
  ASSERT_TRUE(router.WaitUp());
  EXPECT_EQ(router.server->url(), "http://0.0.0.0:" + std::to_string(router.server->port()));
}

TEST(ServerLife, ABodyThatTheEngineDoesNotTakeEndsWithItsClient) {
  Latch end;
  // Reads no more from the connection that it keeps.
  ScriptedEngine engine([&](EngineCall& call) {
    call.wire.BoundReceived(64 << 10);
    call.Answer(200, R"({"choices":[{}]})");
    end.Wait(std::chrono::milliseconds(60'000));
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const auto client = router.Connect();
  client->Send(PostJson("/v1/chat/completions", ChatBody()));
  ASSERT_EQ(ReadMessage(*client).status(), 200);
  // More than the sockets between them hold, and read before the idle connection expires.
  client->Send(PostJson("/v1/chat/completions", ChatBody(",\"user\":\"" + std::string(8 << 20, 'u') + "\"")));
  ASSERT_TRUE(Eventually([&] { return router.book.Of<RequestArrived>().size() == 2; }));
  client->Close();
  EXPECT_TRUE(Eventually([&] { return router.server->active_requests() == 0; }));
  EXPECT_EQ(engine.calls(), 1);
  end.Set();
}

TEST(ServerLife, AReloadAddsAndRemovesReplicasWithoutTouchingStreams) {
  Latch began, go;
  ScriptedEngine first([&](EngineCall& call) { HoldStream(call, began, go); });
  ScriptedEngine second([](EngineCall& call) { AnswerStream(call, 1); });
  TestServer router({first.url()});
  ASSERT_TRUE(router.WaitUp());
  const auto client = router.Connect();
  client->Send(StreamRequest());
  ASSERT_TRUE(began.Wait());
  Config changed = router.config;
  auto fresh = ConfigFromUrls("127.0.0.1:0", {second.url()});
  ASSERT_TRUE(fresh.ok());
  changed.replicas = fresh->replicas;
  changed.replicas[0].engine = "openai";
  ASSERT_TRUE(router.server->Reload(changed).ok());
  ASSERT_TRUE(Eventually([&] {
    const auto fleets = router.book.Of<FleetChanged>();
    return !fleets.empty() && fleets.back().fleet.replicas.size() == 2 && fleets.back().fleet.replicas[0].removed;
  }));
  ASSERT_TRUE(Eventually([&] { return router.Ask(StreamRequest()).status() == 200; }));
  EXPECT_GE(second.calls(), 1);
  EXPECT_EQ(first.calls(), 1);
  go.Set();
  EXPECT_TRUE(ReadMessage(*client).complete);
}

TEST(ServerLife, WhileAReloadTakesTheOnlyLiveReplicaRequestsAreServedOrRefused) {
  ScriptedEngine live([](EngineCall& call) { call.Answer(200, R"({"choices":[{}]})"); });
  // Nothing listens at port 1.
  TestServer router({live.url(), "http://127.0.0.1:1"}, [](Config& config) {
    for (ReplicaConfig& replica : config.replicas) replica.model = "m";
  });
  ASSERT_TRUE(router.WaitUp());
  Config without = router.config;
  without.replicas.erase(without.replicas.begin());
  std::atomic<bool> over{false};
  std::atomic<int> served{0}, refused{0}, other{0};
  const auto ask = [&] {
    const auto wire = router.Connect();
    while (!over) {
      wire->Send(PostJson("/v1/chat/completions", ChatBody()));
      const int status = ReadMessage(*wire).status();
      ++(status == 200 ? served : status == 503 ? refused : other);
    }
  };
  std::thread first(ask), second(ask);
  for (int i = 0; i < 20 && other == 0; ++i) {
    for (const bool takes : {true, false}) {
      EXPECT_TRUE(router.server->Reload(takes ? without : router.config).ok());
      const int before = takes ? refused : served;
      EXPECT_TRUE(Eventually([&] { return (takes ? refused : served) > before + 5; }));
    }
  }
  over = true;
  first.join();
  second.join();
  EXPECT_EQ(other, 0);
}

TEST(ServerLife, AReplicaThatDrainsGetsNothingNewAndComesBack) {
  Latch began, go;
  ScriptedEngine first([&](EngineCall& call) { HoldStream(call, began, go); });
  ScriptedEngine second([](EngineCall& call) { AnswerStream(call, 1); });
  TestServer router({first.url(), second.url()}, [](Config& config) { config.replicas[1].drain = true; });
  ASSERT_TRUE(router.WaitUp());
  const auto client = router.Connect();
  client->Send(StreamRequest());
  ASSERT_TRUE(began.Wait());
  Config changed = router.config;
  changed.replicas[0].drain = true;
  changed.replicas[1].drain = false;
  ASSERT_TRUE(router.server->Reload(changed).ok());
  ASSERT_TRUE(Eventually([&] {
    const auto reported = router.book.Of<ReplicaHealth>();
    return !reported.empty() && reported.back() == ReplicaHealth{ReplicaId(1), Health::kUp};
  }));
  EXPECT_EQ(router.Ask(StreamRequest()).status(), 200);
  EXPECT_EQ(second.calls(), 1);
  go.Set();
  EXPECT_TRUE(ReadMessage(*client).complete);
}

// A connection that has a request: its body is to come.
std::unique_ptr<Wire> ConnectBusy(const TestServer& router) {
  auto wire = router.Connect();
  wire->Send("POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n");
  EXPECT_NE(wire->ReadUntil("100 Continue\r\n\r\n"), std::string::npos);
  wire->buffer().clear();
  return wire;
}

TEST(ServerLife, AReloadChangesTheBoundOfConnections) {
  ScriptedEngine engine([](EngineCall&) {});
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const auto kept = ConnectBusy(router);
  Config changed = router.config;
  changed.limits.max_connections = 1;
  ASSERT_TRUE(router.server->Reload(changed).ok());
  EXPECT_TRUE(Eventually([&] { return router.Ask(Get("/v1/models")).status() == 503; }));
  kept->Send("0123456789");
  EXPECT_EQ(ReadMessage(*kept).status(), 400);
}

TEST(ServerLife, ConnectionsAreBounded) {
  ScriptedEngine engine([](EngineCall&) {});
  TestServer router({engine.url()}, [](Config& config) { config.limits.max_connections = 2; });
  ASSERT_TRUE(router.WaitUp());
  const auto a = ConnectBusy(router);
  const auto b = ConnectBusy(router);
  const WireMessage refused = router.Ask(Get("/v1/models"));
  EXPECT_EQ(refused.status(), 503);
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  EXPECT_EQ(refused.headers.at("x-penstock-reason"), "connections");
  EXPECT_GE(router.Metric("penstock_turned_away_total{limit=\"connections\"}"), 1);
  a->Close();
  EXPECT_TRUE(Eventually([&] { return router.Ask(Get("/v1/models")).status() == 200; }));
}

TEST(ServerLife, AFullRouterClosesItsOldestIdleConnection) {
  ScriptedEngine engine([](EngineCall&) {});
  // One loop: a client's next connection could otherwise become idle before its last one is seen to be.
  TestServer router({engine.url()}, [](Config& config) {
    config.limits.max_connections = 3;
    config.threads = 1;
  });
  ASSERT_TRUE(router.WaitUp());
  const auto busy = ConnectBusy(router);
  std::vector<std::unique_ptr<Wire>> idle;
  for (int i = 0; i < 6; ++i) {
    idle.push_back(router.Connect());
    idle.back()->Send(Get("/v1/models"));
    EXPECT_EQ(ReadMessage(*idle.back()).status(), 200) << i;
    if (i >= 2) {
      EXPECT_TRUE(idle[i - 2]->WaitClosed());
    }
  }
  idle.back()->Send(Get("/v1/models"));
  EXPECT_EQ(ReadMessage(*idle.back()).status(), 200);
  busy->Send("0123456789");
  EXPECT_EQ(ReadMessage(*busy).status(), 400);
}

TEST(ServerLife, AFullRouterStillTellsItsHealthAndMetrics) {
  ScriptedEngine engine([](EngineCall&) {});
  TestServer router({engine.url()}, [](Config& config) { config.limits.max_connections = 1; });
  ASSERT_TRUE(router.WaitUp());
  const auto kept = ConnectBusy(router);
  for (const std::string path : {"/healthz", "/readyz", "/metrics"}) {
    const WireMessage answer = router.Ask(Get(path));
    EXPECT_EQ(answer.status(), 200) << path;
    EXPECT_EQ(answer.headers.at("connection"), "close") << path;
  }
  // Two are left once the earlier ones are closed: the connection that stays alive and the one that asks.
  EXPECT_TRUE(Eventually([&] {
    return router.Ask(Get("/metrics")).body.find("penstock_fill_ratio{of=\"connections\"} 2") != std::string::npos;
  }));
}

TEST(ServerLife, BeyondItsSpareConnectionsARouterRefusesAtOnce) {
  ScriptedEngine engine([](EngineCall&) {});
  TestServer router({engine.url()}, [](Config& config) { config.limits.max_connections = 1; });
  ASSERT_TRUE(router.WaitUp());
  std::vector<std::unique_ptr<Wire>> open;
  // One and 64 spare ones, none of which asks anything.
  open.push_back(ConnectBusy(router));
  for (int i = 0; i < 64; ++i) open.push_back(router.Connect());
  ASSERT_TRUE(Eventually([&] { return router.Metric("penstock_connections_open") == 65; }));
  const WireMessage refused = ReadMessage(*router.Connect());
  EXPECT_EQ(refused.status(), 503);
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  // A spare connection has two seconds to ask.
  EXPECT_TRUE(Eventually([&] { return router.Metric("penstock_connections_open") <= 1; }));
}

TEST(ServerLife, AnAddressWithItsShareGivesUpItsOldestIdleConnectionAndNoBusyOne) {
  ScriptedEngine engine([](EngineCall&) {});
  TestServer router({engine.url()}, [](Config& config) { config.limits.max_connections = 256; });
  ASSERT_TRUE(router.WaitUp());
  std::vector<std::unique_ptr<Wire>> open;
  open.push_back(router.Connect());
  open[0]->Send(Get("/v1/models"));
  EXPECT_EQ(ReadMessage(*open[0]).status(), 200);
  while (open.size() <= 192) open.push_back(ConnectBusy(router));
  EXPECT_TRUE(open[0]->WaitClosed());
  EXPECT_EQ(ReadMessage(*router.Connect()).status(), 503);
}

TEST(ServerLife, MemoryForBodiesIsBounded) {
  constexpr size_t kPiece = 64 << 10;
  Latch go;
  ScriptedEngine engine([&](EngineCall& call) {
    go.Wait();
    call.Answer(200, R"({"choices":[{}]})");
  });
  TestServer router({engine.url()}, [](Config& config) { config.limits.max_body_memory = Bytes(3 * kPiece); });
  ASSERT_TRUE(router.WaitUp());
  const std::string padding = ",\"x\":\"" + std::string(kPiece - 1000, 'x') + "\"";
  const auto a = router.Connect(), b = router.Connect();
  a->Send(PostJson("/v1/chat/completions", ChatBody(padding)));
  ASSERT_TRUE(Eventually([&] { return engine.calls() == 1; }));
  EXPECT_NEAR(router.Metric("penstock_fill_ratio{of=\"body_memory\"}"), 1.0 / 3, 0.02);
  b->Send(PostJson("/v1/chat/completions", ChatBody(padding)));
  ASSERT_TRUE(Eventually([&] { return engine.calls() == 2; }));
  const WireMessage refused = router.Chat(padding);
  EXPECT_EQ(refused.status(), 503);
  EXPECT_EQ(refused.headers.at("x-penstock-reason"), "body_memory");
  EXPECT_EQ(router.Metric("penstock_turned_away_total{limit=\"body_memory\"}"), 1);
  go.Set();
  EXPECT_EQ(router.Chat().status(), 200);  // Small ones are bounded by connections alone.
  EXPECT_EQ(ReadMessage(*a).status(), 200);
  EXPECT_EQ(ReadMessage(*b).status(), 200);
  EXPECT_TRUE(Eventually([&] { return router.Metric("penstock_fill_ratio{of=\"body_memory\"}") == 0; }));
  EXPECT_EQ(router.Chat(padding).status(), 200);
}

}  // namespace
}  // namespace penstock
