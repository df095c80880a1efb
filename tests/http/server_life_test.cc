// Start, readiness, reload, drain, limits of connections.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "config/key_digest.h"
#include "tests/http/test_server.h"

namespace penstock {
namespace {

const std::string kStream = PostJson("/v1/chat/completions", StreamBody());

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
  router.Ask(kStream);
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
  const std::string admin = router.server->admin_address();
  const auto wire = Wire::Connect(static_cast<uint16_t>(std::stoi(admin.substr(admin.rfind(':') + 1))));
  ASSERT_NE(wire, nullptr);
  wire->Send(Get("/metrics"));
  EXPECT_EQ(ReadMessage(*wire).status(), 200);
  wire->Send(Get("/v1/models"));
  EXPECT_EQ(ReadMessage(*wire).status(), 404);
}

TEST(ServerLife, DrainingLetsStreamsFinishAndRefusesNewOnes) {
  Latch began, go;
  ScriptedEngine engine([&](EngineCall& call) {
    call.BeginStream();
    call.Event(DeltaJson("w"));
    began.Set();
    go.Wait();
    call.Event(FinishJson());
    call.EndStream();
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const auto other = router.Connect();
  other->Send(Get("/healthz"));
  ASSERT_EQ(ReadMessage(*other).status(), 200);
  const auto client = router.Connect();
  client->Send(kStream);
  ASSERT_TRUE(began.Wait());
  router.server->BeginDrain();
  EXPECT_TRUE(other->WaitClosed());
  EXPECT_TRUE(Eventually([&] { return Wire::Connect(router.server->port()) == nullptr; }));
  EXPECT_EQ(router.server->active_requests(), 1);
  go.Set();
  EXPECT_TRUE(ReadMessage(*client).complete);
  EXPECT_TRUE(router.server->Drain(Duration::Seconds(10)));
}

TEST(ServerLife, ADrainThatTakesTooLongSaysSo) {
  Latch began;
  ScriptedEngine engine([&](EngineCall& call) {
    call.BeginStream();
    call.Event(DeltaJson("w"));
    began.Set();
    call.wire.WaitClosed();
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const auto client = router.Connect();
  client->Send(kStream);
  ASSERT_TRUE(began.Wait());
  EXPECT_FALSE(router.server->Drain(Duration::Milliseconds(50)));
  router.server->Stop();
  EXPECT_EQ(router.book.Of<RequestClosed>().size(), 1u);
}

TEST(ServerLife, AStreamThatOutlivesTheDrainEndsWithOneError) {
  ScriptedEngine engine([&](EngineCall& call) {
    call.BeginStream();
    call.Event(DeltaJson("w"));
    call.wire.WaitClosed();
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const auto client = router.Connect();
  client->Send(kStream);
  ASSERT_NE(client->ReadUntil(DeltaJson("w")), std::string::npos);
  EXPECT_FALSE(router.server->Drain(Duration::Milliseconds(20)));
  router.server->Stop();
  const WireMessage answer = ReadMessage(*client);
  EXPECT_TRUE(answer.complete);
  const size_t error = answer.body.find("data: {\"error\":{");
  ASSERT_NE(error, std::string::npos) << answer.body;
  EXPECT_EQ(answer.body.find("\"error\"", error + 15), std::string::npos);
  EXPECT_NE(answer.body.find("shutting down", error), std::string::npos);
  EXPECT_NE(answer.body.find("data: [DONE]\n\n", error), std::string::npos);
  ASSERT_EQ(router.book.Of<RequestClosed>().size(), 1u);
  EXPECT_EQ(router.server->active_requests(), 0);
}

TEST(ServerLife, WhatStillWaitsWhenTheDrainEndsIsRefused) {
  Latch asked;
  ScriptedEngine engine([&](EngineCall& call) {
    asked.Set();
    call.wire.WaitClosed();
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const auto silent = router.Connect(), parked = router.Connect();
  silent->Send(PostJson("/v1/chat/completions", ChatBody()));
  ASSERT_TRUE(asked.Wait());
  router.orders.hold = true;
  parked->Send(kStream);
  ASSERT_TRUE(Eventually([&] { return router.server->active_requests() == 2; }));
  EXPECT_FALSE(router.server->Drain(Duration::Milliseconds(20)));
  router.server->Stop();
  for (Wire* client : {silent.get(), parked.get()}) {
    const WireMessage answer = ReadMessage(*client);
    EXPECT_EQ(answer.status(), 503);
    EXPECT_EQ(answer.headers.at("x-penstock-reason"), "shutting_down");
    EXPECT_TRUE(answer.complete);
  }
}

TEST(ServerLife, ABodyThatTheEngineDoesNotTakeEndsWithItsClient) {
  Latch end;
  // Reads no more from the connection that it keeps.
  ScriptedEngine engine([&](EngineCall& call) {
    call.Answer(200, R"({"choices":[]})");
    end.Wait(std::chrono::milliseconds(60'000));
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const auto client = router.Connect();
  client->Send(PostJson("/v1/chat/completions", ChatBody()));
  ASSERT_EQ(ReadMessage(*client).status(), 200);
  // More than the sockets between them hold.
  client->Send(PostJson("/v1/chat/completions", ChatBody(",\"user\":\"" + std::string(24 << 20, 'u') + "\"")));
  ASSERT_TRUE(Eventually([&] { return router.book.Of<RequestArrived>().size() == 2; }));
  client->Close();
  EXPECT_TRUE(Eventually([&] { return router.server->active_requests() == 0; }));
  EXPECT_EQ(engine.calls(), 1);
  end.Set();
}

TEST(ServerLife, AReloadAddsAndRemovesReplicasWithoutTouchingStreams) {
  Latch began, go;
  ScriptedEngine first([&](EngineCall& call) {
    call.BeginStream();
    call.Event(DeltaJson("w"));
    began.Set();
    go.Wait();
    call.Event(FinishJson());
    call.EndStream();
  });
  ScriptedEngine second([](EngineCall& call) { AnswerStream(call, 1); });
  TestServer router({first.url()});
  ASSERT_TRUE(router.WaitUp());
  const auto client = router.Connect();
  client->Send(kStream);
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
  ASSERT_TRUE(Eventually([&] { return router.Ask(kStream).status() == 200; }));
  EXPECT_GE(second.calls(), 1);
  EXPECT_EQ(first.calls(), 1);
  go.Set();
  EXPECT_TRUE(ReadMessage(*client).complete);
}

TEST(ServerLife, AReplicaThatDrainsGetsNothingNewAndComesBack) {
  Latch began, go;
  ScriptedEngine first([&](EngineCall& call) {
    call.BeginStream();
    call.Event(DeltaJson("w"));
    began.Set();
    go.Wait();
    call.Event(FinishJson());
    call.EndStream();
  });
  ScriptedEngine second([](EngineCall& call) { AnswerStream(call, 1); });
  TestServer router({first.url(), second.url()}, [](Config& config) { config.replicas[1].drain = true; });
  ASSERT_TRUE(router.WaitUp());
  const auto client = router.Connect();
  client->Send(kStream);
  ASSERT_TRUE(began.Wait());
  Config changed = router.config;
  changed.replicas[0].drain = true;
  changed.replicas[1].drain = false;
  ASSERT_TRUE(router.server->Reload(changed).ok());
  ASSERT_TRUE(Eventually([&] {
    const auto told = router.book.Of<ReplicaHealth>();
    return !told.empty() && told.back() == ReplicaHealth{ReplicaId(1), Health::kUp};
  }));
  EXPECT_EQ(router.Ask(kStream).status(), 200);
  EXPECT_EQ(second.calls(), 1);
  go.Set();
  EXPECT_TRUE(ReadMessage(*client).complete);
}

TEST(ServerLife, AReloadChangesTheBoundOfConnections) {
  ScriptedEngine engine([](EngineCall&) {});
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const auto kept = router.Connect();
  kept->Send(Get("/healthz"));
  ASSERT_EQ(ReadMessage(*kept).status(), 200);
  Config changed = router.config;
  changed.limits.max_connections = 1;
  ASSERT_TRUE(router.server->Reload(changed).ok());
  EXPECT_TRUE(Eventually([&] { return router.Ask(Get("/v1/models")).status() == 503; }));
  kept->Send(Get("/healthz"));
  EXPECT_EQ(ReadMessage(*kept).status(), 200);
}

TEST(ServerLife, ConnectionsAreBounded) {
  ScriptedEngine engine([](EngineCall&) {});
  TestServer router({engine.url()}, [](Config& config) { config.limits.max_connections = 2; });
  ASSERT_TRUE(router.WaitUp());
  const auto a = router.Connect();
  const auto b = router.Connect();
  a->Send(Get("/healthz"));
  b->Send(Get("/healthz"));
  ASSERT_EQ(ReadMessage(*a).status(), 200);
  ASSERT_EQ(ReadMessage(*b).status(), 200);
  const WireMessage refused = router.Ask(Get("/v1/models"));
  EXPECT_EQ(refused.status(), 503);
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  EXPECT_EQ(refused.headers.at("x-penstock-reason"), "connections");
  EXPECT_GE(router.Metric("penstock_turned_away_total{limit=\"connections\"}"), 1);
  a->Close();
  EXPECT_TRUE(Eventually([&] { return router.Ask(Get("/v1/models")).status() == 200; }));
}

TEST(ServerLife, AFullRouterStillTellsItsHealthAndMetrics) {
  ScriptedEngine engine([](EngineCall&) {});
  TestServer router({engine.url()}, [](Config& config) { config.limits.max_connections = 1; });
  ASSERT_TRUE(router.WaitUp());
  const auto kept = router.Connect();
  kept->Send(Get("/healthz"));
  ASSERT_EQ(ReadMessage(*kept).status(), 200);
  for (const std::string path : {"/healthz", "/readyz", "/metrics"}) {
    const WireMessage answer = router.Ask(Get(path));
    EXPECT_EQ(answer.status(), 200) << path;
    EXPECT_EQ(answer.headers.at("connection"), "close") << path;
  }
  // The kept one and the one that asks, once those before it are closed.
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
  for (int i = 0; i < 65; ++i) open.push_back(router.Connect());
  ASSERT_TRUE(Eventually([&] { return router.Metric("penstock_connections_open") == 65; }));
  const WireMessage refused = ReadMessage(*router.Connect());
  EXPECT_EQ(refused.status(), 503);
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  // A spare connection has two seconds to ask.
  EXPECT_TRUE(Eventually([&] { return router.Metric("penstock_connections_open") <= 1; }));
}

TEST(ServerLife, MemoryForBodiesIsBounded) {
  constexpr size_t kPiece = 64 << 10;
  Latch go;
  ScriptedEngine engine([&](EngineCall& call) {
    go.Wait();
    call.Answer(200, R"({"choices":[]})");
  });
  TestServer router({engine.url()}, [](Config& config) { config.limits.max_body_memory = Bytes(2 * kPiece); });
  ASSERT_TRUE(router.WaitUp());
  const std::string padding = ",\"x\":\"" + std::string(kPiece - 1000, 'x') + "\"";
  const auto a = router.Connect(), b = router.Connect();
  a->Send(PostJson("/v1/chat/completions", ChatBody(padding)));
  ASSERT_TRUE(Eventually([&] { return engine.calls() == 1; }));
  EXPECT_EQ(router.Metric("penstock_fill_ratio{of=\"body_memory\"}"), 0.5);
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

class LimitedTenant : public ::testing::Test {
 protected:
  LimitedTenant()
      : engine_([this](EngineCall& call) {
          call.BeginStream();
          call.Event(DeltaJson("w"));
          began_.Set();
          go_.Wait();
          call.Event(FinishJson());
          if (call.request.body.find("\"include_usage\":true") != std::string::npos) call.Event(UsageJson(9, 1));
          call.EndStream();
        }) {}

  // Of 200 tokens at most.
  static std::string Request(const std::string& key) {
    return PostJson("/v1/chat/completions", StreamBody(",\"max_tokens\":200"), "Authorization: Bearer " + key + "\r\n");
  }
  static std::function<void(Config&)> With(std::optional<int64_t> tokens, std::optional<int64_t> requests) {
    return [tokens, requests](Config& config) {
      TenantConfig tenant;
      tenant.name = "small";
      tenant.keys = {KeyDigest("small-key")};
      tenant.tokens_per_minute = tokens;
      tenant.max_concurrent = requests;
      TenantConfig other;
      other.name = "other";
      other.keys = {KeyDigest("other-key")};
      config.tenants = {tenant, other};
    };
  }
  // The second request while the first runs.
  void ExpectSecondIsRefused(TestServer& router, const std::string& reason, int least_wait) {
    const auto first = router.Connect();
    first->Send(Request("small-key"));
    ASSERT_TRUE(began_.Wait());
    const WireMessage second = router.Ask(Request("small-key"));
    EXPECT_EQ(second.status(), 429);
    EXPECT_EQ(second.headers.at("x-penstock-reason"), reason);
    EXPECT_GE(std::atoi(second.headers.at("retry-after").c_str()), least_wait);
    const auto other = router.Connect();
    other->Send(Request("other-key"));
    ASSERT_NE(other->ReadUntil(DeltaJson("w")), std::string::npos);
    go_.Set();
    EXPECT_TRUE(ReadMessage(*first).complete);
    EXPECT_TRUE(Eventually([&] { return router.server->active_requests() == 0; }));
    EXPECT_EQ(router.Ask(Request("small-key")).status(), 200);
  }

  Latch began_, go_;
  ScriptedEngine engine_;
};

TEST_F(LimitedTenant, TokensAreChargedByForecastAndCorrectedByUsage) {
  TestServer router({engine_.url()}, With(300, std::nullopt));
  ASSERT_TRUE(router.WaitUp());
  ExpectSecondIsRefused(router, "tenant_tokens", 15);
}

TEST_F(LimitedTenant, TheTokensLeftAreAMetric) {
  const std::string metric = "penstock_tenant_available_tokens{tenant=\"small\"}";
  TestServer router({engine_.url()}, With(300, std::nullopt));
  ASSERT_TRUE(router.WaitUp());
  EXPECT_EQ(router.Metric(metric), 300);
  const auto first = router.Connect();
  first->Send(Request("small-key"));
  ASSERT_TRUE(began_.Wait());
  EXPECT_LT(router.Metric(metric), 105);
  go_.Set();
  EXPECT_TRUE(ReadMessage(*first).complete);
  EXPECT_TRUE(Eventually([&] { return router.Metric(metric) > 285; }));  // Corrected to the ten that were used.
  EXPECT_EQ(router.Metric("penstock_tenant_available_tokens{tenant=\"other\"}"), -1);
  Config changed = router.config;
  changed.tenants[0].tokens_per_minute.reset();
  ASSERT_TRUE(router.server->Reload(changed).ok());
  EXPECT_EQ(router.Metric(metric), -1);
}

TEST_F(LimitedTenant, RequestsAtATimeAreBounded) {
  TestServer router({engine_.url()}, With(std::nullopt, 1));
  ASSERT_TRUE(router.WaitUp());
  ExpectSecondIsRefused(router, "tenant_requests", 1);
}

TEST_F(LimitedTenant, AClientThatLeavesIsChargedForWhatRan) {
  TestServer router({engine_.url()}, With(300, 1));
  ASSERT_TRUE(router.WaitUp());
  const auto first = router.Connect();
  first->Send(Request("small-key"));
  ASSERT_TRUE(began_.Wait());
  first->Close();
  go_.Set();
  ASSERT_TRUE(router.AllClosed(1));
  EXPECT_TRUE(Eventually([&] { return router.Ask(Request("small-key")).status() == 200; }));
}

TEST(ServerLife, KeysAreCheckedWhereTenantsAreConfigured) {
  ScriptedEngine engine([](EngineCall& call) { AnswerStream(call, 1); });
  TestServer router({engine.url()}, [](Config& config) {
    TenantConfig tenant;
    tenant.name = "team";
    tenant.keys = {KeyDigest("right")};
    config.tenants = {tenant};
  });
  ASSERT_TRUE(router.WaitUp());
  EXPECT_EQ(router.Ask(kStream).status(), 401);
  EXPECT_EQ(router.Ask(Get("/v1/models")).status(), 401);
  EXPECT_EQ(router.Ask(Get("/metrics")).status(), 200);
  EXPECT_EQ(router.Ask(PostJson("/v1/chat/completions", StreamBody(), "Authorization: Bearer right\r\n")).status(),
            200);
}

}  // namespace
}  // namespace penstock
