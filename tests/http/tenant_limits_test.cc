// The limits of a tenant, on the wire.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>

#include "config/values/key_digest.h"
#include "tests/http/test_server.h"

namespace penstock {
namespace {

class LimitedTenant : public ::testing::Test {
 public:
  // A request for at most 200 tokens.
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

TEST(FalseUsage, ATenantPaysForTheTokensThatCameAndNotForThoseThatNoEngineCouldMake) {
  constexpr int64_t kLie = 1'000'000'000'000'000'000;
  const std::string usage = R"("usage":{"prompt_tokens":)" + std::to_string(kLie) + R"(,"completion_tokens":)" +
                            std::to_string(kLie) + R"(,"prompt_tokens_details":{"cached_tokens":5}})";
  ScriptedEngine engine([usage](EngineCall& call) {
    if (call.request.body.find("\"stream\":true") == std::string::npos) {
      return call.Answer(200, R"({"object":"chat.completion","choices":[{"index":0,"message":{"content":"w"},)"
                              R"("finish_reason":"stop"}],)" +
                                  usage + "}");
    }
    call.BeginStream();
    call.Event(DeltaJson("w"));
    call.Event(FinishJson());
    call.Event(R"({"object":"chat.completion.chunk","choices":[],)" + usage + "}");
    call.EndStream();
  });
  TestServer router({engine.url()}, LimitedTenant::With(1000, std::nullopt));
  ASSERT_TRUE(router.WaitUp());
  const std::string available = "penstock_tenant_available_tokens{tenant=\"small\"}";
  EXPECT_EQ(router.Ask(LimitedTenant::Request("small-key")).status(), 200);
  EXPECT_TRUE(
      Eventually([&] { return router.Metric(available) > 950; }));  // One token, and the prompt by its estimate.
  const std::string whole =
      PostJson("/v1/chat/completions", ChatBody(",\"max_tokens\":200"), "Authorization: Bearer small-key\r\n");
  EXPECT_EQ(router.Ask(whole).status(), 200);
  EXPECT_TRUE(Eventually([&] { return router.Metric(available) > 700; }));  // The forecast of 200 tokens.
  EXPECT_TRUE(Eventually([&] { return router.server->active_requests() == 0; }));
  EXPECT_EQ(router.Metric("penstock_false_usage_total"), 2);
  EXPECT_EQ(router.Metric("penstock_output_tokens_total"), 1);
  // The estimate of the stream, whose prompt an engine computed.
  EXPECT_LE(router.Metric("penstock_prompt_tokens_total"), 20);
}

class RequestsPerKey : public LimitedTenant {};

TEST_F(RequestsPerKey, AreBoundedForEachKeyAlone) {
  TestServer router({engine_.url()}, [](Config& config) { config.limits.max_requests_per_key = 1; });
  ASSERT_TRUE(router.WaitUp());
  ExpectSecondIsRefused(router, "key_requests", 1);
  EXPECT_EQ(router.Metric("penstock_turned_away_total{limit=\"key_requests\"}"), 1);
}

TEST_F(RequestsPerKey, AreBoundedForTheKeysOfOneTenantAlone) {
  TestServer router({engine_.url()}, [](Config& config) {
    With(std::nullopt, std::nullopt)(config);
    config.tenants[0].keys.push_back(config.tenants[1].keys[0]);
    config.tenants.pop_back();
    config.limits.max_requests_per_key = 1;
  });
  ASSERT_TRUE(router.WaitUp());
  ExpectSecondIsRefused(router, "key_requests", 1);
}

TEST(RequestsPerKeyAtTheEnd, ARequestCountsUntilItsClientHasTheAnswerWhateverTheEngineDoes) {
  Latch go;
  ScriptedEngine engine([&](EngineCall& call) {
    call.BeginStream();
    call.Event(DeltaJson("w"));
    call.Event(FinishJson());
    call.Chunk("data: [DONE]\n\n");
    go.Wait();
  });
  TestServer router({engine.url()}, [](Config& config) { config.limits.max_requests_per_key = 1; });
  ASSERT_TRUE(router.WaitUp());
  const auto first = router.Connect(), second = router.Connect();
  for (Wire* client : {first.get(), second.get()}) {
    client->Send(LimitedTenant::Request("small-key"));
    EXPECT_NE(client->ReadUntil("[DONE]"), std::string::npos);
  }
  go.Set();
}

TEST(RequestsPerKeyAtTheEnd, AClientThatAsksOneAfterTheOtherIsNeverRefused) {
  ScriptedEngine engine([](EngineCall& call) {
    call.BeginStream();
    call.Event(DeltaJson("w"));
    call.Event(FinishJson());
    call.Chunk("data: [DONE]\n\n");
    call.Chunk("");
  });
  TestServer router({engine.url()}, [](Config& config) { config.limits.max_requests_per_key = 1; });
  ASSERT_TRUE(router.WaitUp());
  const auto client = router.Connect(), other = router.Connect();
  for (int i = 0; i < 200; ++i) {
    Wire& next = i % 2 == 0 ? *client : *other;
    next.Send(LimitedTenant::Request("small-key"));
    const size_t end = next.ReadUntil("[DONE]");
    ASSERT_NE(end, std::string::npos) << i << ": " << next.buffer();
    ASSERT_NE(next.ReadUntil("0\r\n\r\n"), std::string::npos) << i;
    next.buffer().clear();
  }
}

TEST_F(RequestsPerKey, AClientWithoutAKeyHasNoSuchBound) {
  TestServer router({engine_.url()}, [](Config& config) { config.limits.max_requests_per_key = 1; });
  ASSERT_TRUE(router.WaitUp());
  const std::string anonymous = PostJson("/v1/chat/completions", StreamBody());
  const auto first = router.Connect(), second = router.Connect();
  first->Send(anonymous);
  second->Send(anonymous);
  EXPECT_NE(first->ReadUntil(DeltaJson("w")), std::string::npos);
  EXPECT_NE(second->ReadUntil(DeltaJson("w")), std::string::npos);
  go_.Set();
}

}  // namespace
}  // namespace penstock
