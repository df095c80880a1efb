// Faults of clients, on the wire: each gets a clear error and leaves nothing behind.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/values/key_digest.h"
#include "tests/http/faults/engine_pair.h"
#include "tests/http/test_server.h"

namespace penstock {
namespace {

class BadInputs : public ::testing::Test {
 protected:
  BadInputs()
      : engine_([](EngineCall& call) { AnswerStream(call, 1); }), router_({engine_.url()}, [](Config& config) {
          config.limits.header_timeout = Duration::Milliseconds(150);
          config.limits.body_timeout = Duration::Milliseconds(150);
          config.limits.max_body = Bytes(2000);
        }) {}
  void SetUp() override { ASSERT_TRUE(router_.WaitUp()); }
  void TearDown() override {
    EXPECT_EQ(engine_.calls(), 0);
    EXPECT_EQ(router_.book.Of<RequestArrived>().size(), 0u);
    EXPECT_EQ(router_.Ask(Get("/healthz")).status(), 200);
  }

  // The error's code, with the shape checked.
  std::string Code(const WireMessage& answer) {
    const auto parsed = nlohmann::json::parse(answer.body, nullptr, false);
    if (parsed.is_discarded() || !parsed.contains("error")) {
      ADD_FAILURE() << answer.start << " " << answer.body;
      return "";
    }
    for (const char* key : {"message", "type", "param", "code"}) EXPECT_TRUE(parsed["error"].contains(key)) << key;
    EXPECT_EQ(answer.headers.count("x-request-id"), 1u);
    return parsed["error"]["code"].is_string() ? parsed["error"]["code"].get<std::string>() : "";
  }

  ScriptedEngine engine_;
  TestServer router_;
};

TEST_F(BadInputs, MalformedJson) {
  const WireMessage answer = router_.Ask(PostJson("/v1/chat/completions", "{\"model\":"));
  EXPECT_EQ(answer.status(), 400);
  EXPECT_EQ(Code(answer), "invalid_json");
  EXPECT_EQ(router_.Metric("penstock_bad_input_total{kind=\"malformed_json\"}"), 1);
}

TEST_F(BadInputs, DuplicateKey) {
  const WireMessage answer = router_.Chat(",\"max_tokens\":1,\"max_tokens\":999");
  EXPECT_EQ(answer.status(), 400);
  EXPECT_EQ(Code(answer), "duplicate_key");
}

TEST_F(BadInputs, UnknownModel) {
  const WireMessage answer =
      router_.Ask(PostJson("/v1/chat/completions", R"({"model":"x","messages":[{"role":"user","content":"a"}]})"));
  EXPECT_EQ(answer.status(), 404);
  EXPECT_EQ(Code(answer), "model_not_found");
  EXPECT_EQ(answer.headers.at("x-should-retry"), "false");
}

TEST_F(BadInputs, WrongPathMethodAndContentType) {
  const WireMessage path = router_.Ask(Get("/v2/none"));
  EXPECT_EQ(path.status(), 404);
  EXPECT_EQ(Code(path), "not_found");
  const WireMessage method = router_.Ask(Get("/v1/chat/completions"));
  EXPECT_EQ(method.status(), 405);
  EXPECT_EQ(method.headers.at("allow"), "POST");
  EXPECT_EQ(Code(method), "method_not_allowed");
  const WireMessage type = router_.Ask(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_EQ(type.status(), 415);
  EXPECT_EQ(Code(type), "unsupported_media_type");
}

TEST_F(BadInputs, BodyTooLarge) {
  const WireMessage answer = router_.Chat(",\"user\":\"" + std::string(3000, 'u') + "\"");
  EXPECT_EQ(answer.status(), 413);
  EXPECT_EQ(Code(answer), "body_too_large");
}

TEST_F(BadInputs, HeaderTooLarge) {
  const WireMessage answer = router_.Ask("GET / HTTP/1.1\r\nX-Long: " + std::string(70'000, 'h') + "\r\n\r\n");
  EXPECT_EQ(answer.status(), 431);
  EXPECT_EQ(Code(answer), "header_too_large");
}

TEST_F(BadInputs, NotHttp) {
  const WireMessage answer = router_.Ask("\x16\x03\x01\x02 nonsense\r\n\r\n");
  EXPECT_EQ(answer.status(), 400);
  EXPECT_EQ(Code(answer), "malformed_request");
}

TEST_F(BadInputs, ConflictingFraming) {
  const WireMessage answer = router_.Ask(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\nTransfer-Encoding: "
      "chunked\r\n\r\n0\r\n\r\n");
  EXPECT_EQ(answer.status(), 400);
}

TEST_F(BadInputs, AHeadThatNeverEndsTimesOut) {
  const auto client = router_.Connect();
  client->Send("POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nX-Slow: ");
  const WireMessage answer = ReadMessage(*client);
  EXPECT_EQ(answer.status(), 408);
  EXPECT_EQ(Code(answer), "request_timeout");
  EXPECT_TRUE(client->WaitClosed());
}

TEST_F(BadInputs, AFaultInTheHeadComesInTheFormOfItsPath) {
  const std::string bad = " HTTP/1.1\r\nHost: t\r\nHost: u\r\n\r\n";
  const std::string large = " HTTP/1.1\r\nHost: t\r\nX: " + std::string(128 << 10, 'x') + "\r\n\r\n";
  const std::string slow = " HTTP/1.1\r\nHost: t\r\nX-Slow: ";
  for (const std::string& rest : {bad, large, slow}) {
    const WireMessage message = router_.Ask("POST /v1/messages" + rest);
    EXPECT_EQ(message.body.rfind(R"({"type":"error","error":{"type":)", 0), 0u) << message.body;
    const WireMessage chat = router_.Ask("POST /v1/chat/completions" + rest);
    EXPECT_EQ(chat.body.rfind(R"({"error":{"message":)", 0), 0u) << chat.body;
    EXPECT_EQ(message.status(), chat.status());
  }
}

TEST_F(BadInputs, ABodyThatNeverEndsTimesOut) {
  const auto client = router_.Connect();
  client->Send("POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nContent-Length: 500\r\n\r\n{\"model\"");
  EXPECT_EQ(ReadMessage(*client).status(), 408);
  EXPECT_EQ(router_.Metric("penstock_bad_input_total{kind=\"too_slow\"}"), 1);
}

TEST_F(BadInputs, ARequestCutInTheMiddleIsCounted) {
  const auto client = router_.Connect();
  client->Send("POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nContent-Length: 500\r\n\r\n{\"model\"");
  client->Close();
  EXPECT_TRUE(Eventually([&] { return router_.Metric("penstock_bad_input_total{kind=\"truncated\"}") == 1; }));
}

TEST_F(BadInputs, AnUnknownClass) {
  const WireMessage answer = router_.Chat("", "x-penstock-class: urgent\r\n");
  EXPECT_EQ(answer.status(), 400);
  EXPECT_EQ(Code(answer), "invalid_value");
}

TEST(StoredResponses, AConversationThatOneEngineStoresIsUnknownWhereThereAreSeveral) {
  for (const size_t engines : {1u, 2u}) {
    const auto script = [](EngineCall& call) { call.Answer(200, "{}"); };
    ScriptedEngine a(script, kVllmPages), b(script, kVllmPages);
    std::vector<std::string> urls = {a.url(), b.url()};
    urls.resize(engines);
    TestServer router(urls, [](Config& config) {
      for (ReplicaConfig& replica : config.replicas) replica.engine = "vllm";
    });
    ASSERT_TRUE(router.WaitUp(static_cast<int>(engines)));
    const WireMessage answer =
        router.Ask(PostJson("/v1/responses", R"({"model":"m","input":"go on","previous_response_id":"resp_1"})"));
    EXPECT_EQ(answer.status(), engines == 1 ? 200 : 404) << answer.body;
    EXPECT_EQ(a.calls() + b.calls(), engines == 1 ? 1 : 0);
  }
}

class Keys : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(router_.WaitUp()); }
  WireMessage Ask(const std::string& headers = "") {
    return router_.Ask(PostJson("/v1/chat/completions", StreamBody(), headers));
  }

  ScriptedEngine engine_{[](EngineCall& call) { AnswerStream(call, 1); }};
  TestServer router_{{engine_.url()}, [](Config& config) {
                       TenantConfig tenant;
                       tenant.name = "team";
                       tenant.keys = {KeyDigest("right")};
                       config.tenants = {tenant};
                     }};
};

TEST_F(Keys, AMissingKeyIsNotAnIncorrectOne) {
  const WireMessage missing = Ask();
  const WireMessage wrong = Ask("Authorization: Bearer wrong\r\n");
  EXPECT_EQ(missing.status(), 401);
  EXPECT_EQ(wrong.status(), 401);
  EXPECT_NE(missing.body.find("You didn't provide an API key"), std::string::npos) << missing.body;
  EXPECT_NE(wrong.body.find("Incorrect API key provided"), std::string::npos) << wrong.body;
}

TEST_F(Keys, ARefusalDoesNotWaitForASmallBodyAndTheConnectionServesOn) {
  const std::unique_ptr<Wire> wire = router_.Connect();
  const std::string refused = PostJson("/v1/chat/completions", StreamBody());
  const size_t begun = refused.size() - 5;
  wire->Send(refused.substr(0, begun));
  EXPECT_EQ(ReadMessage(*wire).status(), 401);
  // The second half of the body comes together with the next request.
  wire->Send(refused.substr(begun) + Get("/healthz"));
  EXPECT_EQ(ReadMessage(*wire).status(), 200);
  wire->Send(PostJson("/v1/chat/completions", StreamBody(), "Authorization: Bearer right\r\n"));
  EXPECT_EQ(ReadMessage(*wire).status(), 200);
}

TEST_F(Keys, TheyAreCheckedWhereTenantsAreConfiguredButNotForMetrics) {
  EXPECT_EQ(router_.Ask(Get("/v1/models")).status(), 401);
  EXPECT_EQ(router_.Ask(Get("/metrics")).status(), 200);
  EXPECT_EQ(Ask("Authorization: Bearer right\r\n").status(), 200);
}

}  // namespace
}  // namespace penstock
