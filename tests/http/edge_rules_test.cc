// Errors, headers, routes, tenants and classes: the pure rules of the edge.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/values/key_digest.h"
#include "router/fleet/tenants.h"
#include "router/http/response_head.h"
#include "router/openai/error/api_error.h"
#include "router/openai/request/header_rules.h"
#include "router/openai/route/routes.h"

namespace penstock {
namespace {

TEST(ApiErrors, EveryErrorHasAllFourKeys) {
  const auto error = nlohmann::json::parse(ErrorBody(MakeError(ErrorName::kNotFound, "no \"such\" path")))["error"];
  EXPECT_EQ(error["message"], "no \"such\" path");
  EXPECT_EQ(error["type"], "invalid_request_error");
  EXPECT_TRUE(error["param"].is_null());
  EXPECT_EQ(error["code"], "not_found");
  const auto without = nlohmann::json::parse(ErrorBody(ApiError()))["error"];
  EXPECT_TRUE(without["code"].is_null());
}

TEST(ApiErrors, EveryErrorIsOneRowOfTheTable) {
  for (int i = 0; i < kErrorCount; ++i) {
    const ErrorRow& row = RowOf(static_cast<ErrorName>(i));
    const ApiError error = MakeError(row.name, "m", "p");
    EXPECT_EQ(error.status, row.status) << row.label;
    EXPECT_EQ(error.code, std::string(row.code));
    EXPECT_EQ(error.reason, std::string(row.label));
    EXPECT_EQ(error.retry_after.has_value(), row.retry == RetryHint::kAfter);
    EXPECT_EQ(error.bad_input, row.bad_input);
  }
}

TEST(ApiErrors, EveryFailureOfAnEngineHasARowWithItsLabel) {
  for (size_t i = 0; i < kEngineErrorLabels.size(); ++i) {
    EXPECT_EQ(RowOf(NameOf(static_cast<EngineErrorKind>(i))).label, kEngineErrorLabels[i]);
  }
}

TEST(ApiErrors, InvalidUtf8InAMessageStaysValidJson) {
  const std::string body = ErrorBody(MakeError(ErrorName::kNotFound, "a\xff z"));
  EXPECT_TRUE(nlohmann::json::accept(body)) << body;
}

TEST(ApiErrors, EveryRefusalKeepsItsRowOfTheTable) {
  for (const RefusalTraits& traits : kRefusals) {
    const Refuse refuse{RequestId(1), traits.refusal, Duration::Milliseconds(1500), 100, 200};
    const ApiError error = FromRefusal(refuse, "m");
    EXPECT_EQ(error.status, traits.status);
    EXPECT_EQ(error.code, std::string(traits.code));
    EXPECT_EQ(error.retry_after.has_value(), traits.retryable);
    EXPECT_EQ(error.never_retry, !traits.retryable);
    EXPECT_FALSE(error.message.empty());
  }
}

TEST(ApiErrors, AFailedWakeIsNamed) {
  const Refuse refuse{RequestId(1), Refusal::kNoReplica, Duration::Seconds(5), 0, 0, false, /*unwoken=*/true};
  EXPECT_EQ(FromRefusal(refuse, "m").message, "The model `m` sleeps, and could not be woken. Retry later.");
}

TEST(ApiErrors, AContextRefusalNamesBothNumbers) {
  const ApiError error = FromRefusal(Refuse{RequestId(1), Refusal::kContextExceeded, Duration(), 8192, 9000}, "m");
  EXPECT_NE(error.message.find("8192"), std::string::npos);
  EXPECT_NE(error.message.find("9000"), std::string::npos);
}

TEST(ApiErrors, AnEnginesClientErrorKeepsItsStatus) {
  const ApiError error = FromEngine(EngineError{422, "bad", "", "", ""});
  EXPECT_EQ(error.status, 422);
  EXPECT_EQ(error.message, "bad");
}

TEST(ApiErrors, ABodyOfAnUnknownShapeIsForTheLogOnly) {
  EngineError page{502, "<html>upstream 10.0.0.7:8000 failed</html>", "", "", ""};
  page.unknown_shape = true;
  const ApiError error = FromEngine(page);
  EXPECT_EQ(error.message, "The engine answered with status 502 and without a JSON error message.");
  EXPECT_EQ(error.detail, page.message);
  EXPECT_EQ(ErrorBody(error).find("10.0.0.7"), std::string::npos);
}

TEST(ApiErrors, AnErrorInsideAnAnswerIsNotToldAsAStatusThatTheEngineNeverSent) {
  for (const EngineError& inside : {ParseEngineError(200, R"({"error":{}})"), ErrorInAnswer(R"({"error":[1]})")}) {
    const ApiError error = FromEngine(inside);
    EXPECT_EQ(error.message, "The engine sent an error inside its answer, without a message that can be read.");
    EXPECT_EQ(error.detail, inside.message);
  }
}

TEST(ApiErrors, AnEngineThatRefusesTheRoutersKeyIsNotTheClientsFault) {
  EXPECT_EQ(FromEngine(EngineError{407, "", "", "", ""}).status, 502);
  EXPECT_EQ(FromEngine(EngineError{401, "bad key", "", "", ""}).status, 502);
  EXPECT_EQ(FromEngine(EngineError{403, "no", "", "", ""}).status, 502);
}

std::set<std::string> NamesOf(const HeaderList& headers) {
  std::set<std::string> names;
  for (const auto header : headers) names.insert(std::string(header.first));
  return names;
}

TEST(HeaderRules, EnginesGetTheClientsHeadersButNotItsCredentialsOrSteering) {
  const HeaderList client = {{"Authorization", "Bearer secret"},
                             {"x-goog-api-key", "secret"},
                             {"Ocp-Apim-Subscription-Key", "secret"},
                             {"Cookie", "c"},
                             {"Range", "bytes=0-1"},
                             {"If-None-Match", "x"},
                             {"Content-Encoding", "gzip"},
                             {"X-data-parallel-rank", "3"},
                             {"X-Vllm-Priority", "1"},
                             {"X-Conversation-Id", "c1"},
                             {"x-penstock-class", "interactive"},
                             {"Connection", "keep-alive, X-Hop, baggage"},
                             {"X-Hop", "1"},
                             {"Baggage", "1"},
                             {"Transfer-Encoding", "chunked"},
                             {"Host", "h"},
                             {"Content-Length", "5"},
                             {"x-simulated-output-tokens", "7"},
                             {"X-B3-TraceId", "1"},
                             {"traceparent", "00-1"},  // Only the router's own goes on.
                             {"Content-Type", "application/json"}};
  const HeaderList sent = HeadersForEngine(client, "engine-key", "id-1", {});
  EXPECT_EQ(NamesOf(sent), (std::set<std::string>{"Authorization", "Content-Type", "X-B3-TraceId", "x-request-id",
                                                  "x-simulated-output-tokens"}));
  EXPECT_EQ(FindHeader(sent, "authorization"), "Bearer engine-key");
  EXPECT_EQ(FindHeader(sent, "x-request-id"), "id-1");
}

TEST(HeaderRules, TheKindOfEngineAndTheConfigurationAddHeadersButNoCredentials) {
  const HeaderList client = {{"OpenAI-Project", "p"}, {"X-Team", "t"},   {"X-Hop", "1"},
                             {"Authorization", "a"},  {"Host", "other"}, {"Connection", "x-hop"}};
  const absl::string_view of_engine[] = {"openai-project", "x-hop"};
  const std::vector<std::string> configured = {"x-team", "authorization", "host"};
  const HeaderList sent = HeadersForEngine(client, "", "id-1", {of_engine, configured});
  EXPECT_EQ(NamesOf(sent), (std::set<std::string>{"Content-Type", "OpenAI-Project", "X-Team", "x-request-id"}));
}

TEST(HeaderRules, WithoutAnEngineKeyNoCredentialsAreSent) {
  EXPECT_EQ(FindHeader(HeadersForEngine({{"authorization", "Bearer x"}}, "", "i", {}), "authorization"), "");
}

TEST(HeaderRules, ViaNamesTheRoutersThatARequestPassed) {
  const MoreHeaders more{{}, {}, "penstock-a1"};
  const HeaderList first = HeadersForEngine({}, "", "i", more);
  EXPECT_EQ(FindHeader(first, "via"), "1.1 penstock-a1");
  EXPECT_EQ(FindHeader(HeadersForEngine({{"Via", "1.1 other"}}, "", "i", more), "via"), "1.1 other, 1.1 penstock-a1");
  EXPECT_EQ(FindHeader(HeadersForEngine({{"Via", std::string(2000, 'x')}}, "", "i", more), "via"), "1.1 penstock-a1");
  EXPECT_EQ(FindHeader(HeadersForEngine({{"Via", "1.1 other"}}, "", "i", {}), "via"), "");
  EXPECT_TRUE(PassedBefore(first, "penstock-a1"));
  EXPECT_TRUE(PassedBefore({{"via", "1.1 x"}, {"Via", "1.1 penstock-a1, 1.1 other"}}, "penstock-a1"));
  EXPECT_FALSE(PassedBefore(first, "penstock-b2"));
  EXPECT_FALSE(PassedBefore(first, ""));
}

TEST(HeaderRules, ClientsGetNoHeaderThatIsForTheConnectionToTheEngine) {
  const HeaderList engine = {{"Connection", "close, X-Internal"},
                             {"x-internal", "1"},
                             {"Keep-Alive", "timeout=5"},
                             {"Server", "uvicorn"},
                             {"Content-Length", "5"},
                             {"Retry-After", "30"},
                             {"Retry-After-Ms", "5"},
                             {"X-Should-Retry", "true"},
                             {"x-penstock-reason", "r"},
                             {"access-control-allow-origin", "*"},
                             {"Clear-Site-Data", "*"},
                             {"Link", "<http://other>; rel=preload"},
                             {"Content-Disposition", "attachment"},
                             {"Content-Security-Policy-Report-Only", "default-src 'none'"},
                             {"Cross-Origin-Opener-Policy", "same-origin"},
                             {"WWW-Authenticate", "Basic"},
                             {"Reporting-Endpoints", "a=\"http://other\""},
                             {"Service-Worker-Allowed", "/"},
                             {"X-Accel-Redirect", "/internal"},
                             {"X-Sendfile", "/etc/hosts"},
                             {"X-Model-Time", "3"}};
  EXPECT_EQ(NamesOf(HeadersForClient(engine)), std::set<std::string>{"X-Model-Time"});
}

TEST(HeaderRules, OnlySaneRequestIdsAreTaken) {
  EXPECT_EQ(ClientRequestId({{"X-Request-Id", "abc-1"}}), "abc-1");
  EXPECT_EQ(ClientRequestId({{"X-Client-Request-Id", "abc"}}), "abc");
  EXPECT_EQ(ClientRequestId({{"x-request-id", "has space"}}), "");
  EXPECT_EQ(ClientRequestId({{"x-request-id", std::string(129, 'a')}}), "");
}

TEST(ResponseHeads, AValueCannotEndTheHead) {
  ResponseHead head(200, true, false);
  head.Add("x", "a\r\nevil: 1");
  const std::string text = std::move(head).WithLength(0);
  EXPECT_EQ(text.find("\nevil"), std::string::npos);
}

TEST(Routes, PathsMethodsAndQueries) {
  EXPECT_EQ(MatchRoute("POST", "/v1/chat/completions").route, Route::kGenerate);
  EXPECT_EQ(MatchRoute("POST", "/v1/chat/completions?x=1").route, Route::kGenerate);
  EXPECT_EQ(MatchRoute("POST", "http://h:1/rerank").endpoint, Endpoint::kRerank);
  EXPECT_EQ(MatchRoute("POST", "HTTP://h:1/rerank").endpoint, Endpoint::kRerank);
  EXPECT_EQ(MatchRoute("POST", "/v2/rerank").endpoint, Endpoint::kRerank);
  EXPECT_EQ(MatchRoute("POST", "/score").endpoint, Endpoint::kScore);
  EXPECT_EQ(MatchRoute("POST", "/tokenize").endpoint, Endpoint::kTokenize);
  EXPECT_EQ(MatchRoute("GET", "HTTPS://h").route, Route::kPage);
  EXPECT_EQ(MatchRoute("GET", "http://h/v1/models").route, Route::kModels);
  EXPECT_EQ(MatchRoute("GET", "http://h/v1/models?x=/healthz").route, Route::kModels);
  EXPECT_EQ(MatchRoute("GET", "http://h?x=/v1/models").route, Route::kPage);
  EXPECT_EQ(MatchRoute("GET", "/v1/chat/completions").route, Route::kWrongMethod);
  EXPECT_EQ(MatchRoute("GET", "/v1/chat/completions").allow, "POST");
  EXPECT_EQ(MatchRoute("DELETE", "/metrics").allow, "GET, HEAD");
  EXPECT_EQ(MatchRoute("GET", "/v1/chat").route, Route::kNotFound);
  EXPECT_EQ(MatchRoute("GET", "/").route, Route::kPage);
  EXPECT_TRUE(MatchRoute("GET", "/penstock/fleet").admin);
  EXPECT_EQ(MatchRoute("GET", "/penstock/fleet?x=1").page, "fleet");
  EXPECT_EQ(MatchRoute("GET", "/penstock/").page, "");
  EXPECT_EQ(MatchRoute("POST", "/penstock/events").route, Route::kWrongMethod);
  EXPECT_EQ(MatchRoute("GET", "/penstock/other").route, Route::kNotFound);
}

TEST(Routes, AWrongMethodOnAKnownPathNamesTheRightOnes) {
  for (const char* path :
       {"/healthz", "/readyz", "/health", "/ping", "/version", "/metrics", "/v1/models", "/v1/models/m"}) {
    for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "get"}) {
      EXPECT_EQ(MatchRoute(method, path).route, Route::kWrongMethod) << method << path;
      EXPECT_EQ(MatchRoute(method, path).allow, "GET, HEAD") << method << path;
    }
  }
  EXPECT_EQ(MatchRoute("HEAD", "/v1/responses").allow, "POST");
  EXPECT_EQ(MatchRoute("PUT", "/v1/responses/r1").allow, "GET, HEAD, DELETE");
  EXPECT_EQ(MatchRoute("GET", "/v1/responses/r1/cancel").allow, "POST");
  EXPECT_EQ(MatchRoute("DELETE", "/v1/responses/r1/input_items").allow, "GET, HEAD");
  EXPECT_EQ(MatchRoute("DELETE", "/v1/responses/r1").route, Route::kStoredResponse);
  EXPECT_EQ(MatchRoute("POST", "/v1/responses/r1/cancel").route, Route::kStoredResponse);
  EXPECT_EQ(MatchRoute("GET", "/v1/responses/").route, Route::kNotFound);
  for (const char* path : {"/v1/responses/r1?stream=true", "/v1/responses/r1/input_items?limit=1"}) {
    EXPECT_EQ(MatchRoute("GET", path).id, "r1") << path;
  }
  EXPECT_EQ(MatchRoute("POST", "/v1/responses/r1/cancel").id, "r1");
  EXPECT_TRUE(MatchRoute("POST", "/metrics").admin);
  EXPECT_FALSE(MatchRoute("POST", "/ping").admin);
}

TEST(Routes, ModelNamesMayHaveSlashesPlainOrEscaped) {
  EXPECT_EQ(MatchRoute("GET", "/v1/models/meta-llama/Llama-3.1-8B").model, "meta-llama/Llama-3.1-8B");
  EXPECT_EQ(MatchRoute("GET", "/v1/models/meta-llama%2FLlama").model, "meta-llama/Llama");
  EXPECT_EQ(MatchRoute("GET", "/v1/models/bad%2").route, Route::kNotFound);
}

Config WithTenants() {
  Config config;
  TenantConfig a;
  a.name = "team-a";
  a.keys = {KeyDigest("key-a"), KeyDigest("key-a2")};
  TenantConfig b;
  b.name = "team-b";
  b.keys = {KeyDigest("key-b")};
  b.max_class = "standard";
  config.tenants = {a, b};
  return config;
}

TEST(Tenants, AConfiguredKeyNamesItsTenant) {
  const TenantBook book(WithTenants());
  const auto first = std::get<Caller>(book.Identify({{"Authorization", "Bearer key-a"}}));
  const auto second = std::get<Caller>(book.Identify({{"authorization", "bearer key-a2"}}));
  EXPECT_EQ(first.name, "team-a");
  EXPECT_EQ(first.tenant, second.tenant);
  EXPECT_NE(first.tenant, std::get<Caller>(book.Identify({{"x-api-key", "key-b"}})).tenant);
}

TEST(Tenants, AnUnknownOrMissingKeyIs401) {
  const TenantBook book(WithTenants());
  for (const HeaderList& headers :
       {HeaderList{}, HeaderList{{"authorization", "Bearer nope"}}, HeaderList{{"authorization", "Bearer "}}}) {
    const auto error = std::get<ApiError>(book.Identify(headers));
    EXPECT_EQ(error.status, 401);
    EXPECT_EQ(error.code, "invalid_api_key");
  }
}

TEST(Tenants, WithoutTenantsAnyKeyIsATenantOfItsOwn) {
  const TenantBook book{Config()};
  const auto a = std::get<Caller>(book.Identify({{"authorization", "Bearer a"}}));
  const auto b = std::get<Caller>(book.Identify({{"authorization", "Bearer b"}}));
  EXPECT_NE(a.tenant, b.tenant);
  EXPECT_EQ(std::get<Caller>(book.Identify({})).tenant, TenantId());
}

}  // namespace
}  // namespace penstock
