// The scraper and the recognition against servers that answer with recorded or documented bodies.
#include "backends/engines/scrape/engine_scraper.h"

#include <gtest/gtest.h>

#include <map>

#include "backends/engines/catalogue/engine_catalogue.h"
#include "tests/backends/recording.h"
#include "tests/backends/scrape/scraped_routes.h"
#include "tests/backends/transport/scripted_server.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

Routes LlamaRoutes() {
  Routes routes;
  routes.answers["/props"] = RecordedResponse("get-props");
  routes.answers["/v1/models"] = RecordedResponse("get-v1-models");
  routes.answers["/slots"] = RecordedResponse("get-slots-busy");
  routes.answers["/metrics"] = RecordedResponse("get-metrics-busy");
  return routes;
}

absl::StatusOr<EngineKind> Detect(Routes& routes) {
  asio::io_context loop;
  ScriptedServer server(loop, {routes.script()});
  UpstreamPool pool(loop, server.address(), {});
  const auto engine = RunToEnd(loop, DetectEngine(pool, ""));
  if (!engine.ok()) return engine.status();
  return (*engine)->kind;
}

absl::StatusOr<Discovery> Discover(EngineScraper& scraper, Routes& routes, const std::string& key = "") {
  asio::io_context loop;
  ScriptedServer server(loop, {routes.script()});
  UpstreamPool pool(loop, server.address(), {});
  return RunToEnd(loop, scraper.Discover(pool, key));
}

TEST(DetectEngine, EnginesAreKnownByTheirOwnEndpoints) {
  Routes llama = LlamaRoutes();
  EXPECT_EQ(*Detect(llama), EngineKind::kLlamaCpp);
  Routes vllm = VllmRoutes();
  EXPECT_EQ(*Detect(vllm), EngineKind::kVllm);
  EXPECT_EQ(vllm.asked.size(), 1u) << "the list of models is signed: nothing else need be asked";
  Routes sglang;
  sglang.answers["/server_info"] = Answer(R"({"max_total_num_tokens":1000})");
  EXPECT_EQ(*Detect(sglang), EngineKind::kSglang);
  Routes tgi;
  tgi.answers["/info"] = Answer(R"({"model_id":"m","max_total_tokens":4096})");
  EXPECT_EQ(*Detect(tgi), EngineKind::kTgi);
  Routes ollama;
  ollama.answers["/v1/models"] = Answer(R"({"data":[{"id":"m","owned_by":"library"}]})");
  ollama.answers["/api/version"] = Answer(R"({"version":"0.9"})");
  EXPECT_EQ(*Detect(ollama), EngineKind::kOllama);
}

TEST(DetectEngine, UnsignedVllmIsKnownByItsMetricsAndLlamaByItsProps) {
  Routes vllm = VllmRoutes();
  vllm.answers["/v1/models"] = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
  EXPECT_EQ(*Detect(vllm), EngineKind::kVllm);
  Routes llama = LlamaRoutes();
  llama.answers.erase("/v1/models");
  EXPECT_EQ(*Detect(llama), EngineKind::kLlamaCpp);
}

TEST(DetectEngine, AnythingElseThatAnswersIsGeneric) {
  Routes routes;
  routes.answers["/v1/models"] = Answer(R"({"data":[{"id":"m","owned_by":"someone"}]})");
  EXPECT_EQ(*Detect(routes), EngineKind::kOpenAi);
}

TEST(DetectEngine, ALoadingEngineIsUnavailable) {
  Routes routes;
  routes.answers["/v1/models"] = RecordedResponse("loading-get-v1-models");
  EXPECT_EQ(Detect(routes).status().code(), absl::StatusCode::kUnavailable);
}

TEST(DetectEngine, ASilentAddressIsUnavailable) {
  asio::io_context loop;
  ScriptedServer server(loop, {Always("")});
  server.StopListening();
  UpstreamPool pool(loop, server.address(), {});
  EXPECT_EQ(RunToEnd(loop, DetectEngine(pool, "")).status().code(), absl::StatusCode::kUnavailable);
}

TEST(ScrapingVllm, DiscoversAndPolls) {
  Routes routes = VllmRoutes();
  EngineScraper scraper(EngineOf(EngineKind::kVllm));
  const auto found = Discover(scraper, routes, "secret");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->kind, EngineKind::kVllm);
  EXPECT_EQ(found->version, "0.11.0");
  EXPECT_EQ(found->kv_tokens, Tokens(50'000));
  EXPECT_EQ(found->models[0].max_context, Tokens(4096));
  EXPECT_FALSE(found->overflow_fatal);
  EXPECT_NE(routes.last_request.find("Authorization: Bearer secret\r\n"), std::string::npos);
  const auto seen = Poll(scraper, routes);
  ASSERT_TRUE(seen.ok()) << seen.status();
  EXPECT_EQ(seen->running, 2);
  EXPECT_NEAR(seen->kv_used_share, 0.5, 1e-12);
}

TEST(ScrapingVllm, AWrongKeyIsNamed) {
  Routes routes = VllmRoutes();
  routes.answers["/v1/models"] = RecordedResponse("apikey-wrong");
  EngineScraper scraper(EngineOf(EngineKind::kVllm));
  EXPECT_EQ(Discover(scraper, routes).status().code(), absl::StatusCode::kUnauthenticated);
}

TEST(ScrapingVllm, WithoutMetricsThePollOnlyShowsThatItAnswers) {
  Routes routes = VllmRoutes();
  routes.answers.erase("/metrics");
  EngineScraper scraper(EngineOf(EngineKind::kVllm));
  const auto seen = Poll(scraper, routes);
  ASSERT_TRUE(seen.ok()) << seen.status();
  EXPECT_LT(seen->running, 0);
}

TEST(ScrapingLlama, SlotsAreAskedOnlyWhileSomethingRuns) {
  Routes routes = LlamaRoutes();
  EngineScraper scraper(EngineOf(EngineKind::kLlamaCpp));
  ASSERT_TRUE(Discover(scraper, routes).ok());
  const auto busy = Poll(scraper, routes);
  ASSERT_TRUE(busy.ok()) << busy.status();
  EXPECT_EQ(busy->running, 4);
  EXPECT_EQ(busy->waiting, 3);
  EXPECT_NEAR(busy->kv_used_share, 153.0 / 2048, 1e-12);
  EXPECT_EQ(routes.asked["/slots"], 1);

  routes.answers["/metrics"] = RecordedResponse("get-metrics-fresh");
  const auto idle = Poll(scraper, routes);
  ASSERT_TRUE(idle.ok()) << idle.status();
  EXPECT_EQ(idle->running, 0);
  EXPECT_EQ(idle->kv_used_share, 0);
  EXPECT_EQ(routes.asked["/slots"], 1) << "an idle server must be free to fall asleep";
}

TEST(ScrapingLlama, WithoutMetricsSlotsAreAskedUnlessPropsSaysThatItSleeps) {
  Routes routes = LlamaRoutes();
  routes.answers["/metrics"] = RecordedResponse("metrics-disabled");
  EngineScraper scraper(EngineOf(EngineKind::kLlamaCpp));
  ASSERT_TRUE(Discover(scraper, routes).ok());
  const auto busy = Poll(scraper, routes);
  ASSERT_TRUE(busy.ok()) << busy.status();
  EXPECT_EQ(busy->running, 4);
  EXPECT_LT(busy->waiting, 0);

  std::string& props = routes.answers["/props"];
  const std::string awake = "\"is_sleeping\":false";
  props.replace(props.find(awake), awake.size(), "\"is_sleeping\": true");
  const int asked = routes.asked["/slots"];
  const auto asleep = Poll(scraper, routes);
  ASSERT_TRUE(asleep.ok()) << asleep.status();
  EXPECT_EQ(asleep->running, 0);
  EXPECT_FALSE(asleep->sleeping) << "a request wakes it";
  EXPECT_EQ(routes.asked["/slots"], asked);
}

TEST(ScrapingLlama, SlotsThatAreOffAreAskedOnce) {
  Routes routes = LlamaRoutes();
  routes.answers["/slots"] = RecordedResponse("slots-disabled");
  EngineScraper scraper(EngineOf(EngineKind::kLlamaCpp));
  ASSERT_TRUE(Discover(scraper, routes).ok());
  for (int i = 0; i < 3; ++i) {
    const auto seen = Poll(scraper, routes);
    ASSERT_TRUE(seen.ok()) << seen.status();
    EXPECT_EQ(seen->running, 4);
    EXPECT_LT(seen->kv_used_share, 0);
  }
  EXPECT_EQ(routes.asked["/slots"], 1);
}

TEST(ScrapingLlama, ALoadingServerIsUnavailable) {
  Routes routes = LlamaRoutes();
  routes.answers["/props"] = RecordedResponse("loading-get-props");
  EngineScraper scraper(EngineOf(EngineKind::kLlamaCpp));
  EXPECT_EQ(Discover(scraper, routes).status().code(), absl::StatusCode::kUnavailable);
}

TEST(ScrapingOthers, DiscoverAndPollWhatTheirEnginesTell) {
  Routes routes;
  routes.answers["/v1/models"] = Answer(R"({"data":[{"id":"m","max_model_len":2000}]})");
  routes.answers["/get_server_info"] = Answer(R"({"max_total_num_tokens":1000,"page_size":1})");
  routes.answers["/v1/loads"] = Answer(R"({"loads":[{"num_running_reqs":3}]})");
  routes.answers["/info"] = Answer(R"({"model_id":"t","max_total_tokens":4096})");
  routes.answers["/metrics"] = Answer("tgi_batch_max_total_tokens 9000\ntgi_queue_size 0\n");
  routes.answers["/api/version"] = Answer(R"({"version":"0.9"})");
  routes.answers["/api/tags"] = Answer(R"({"models":[{"name":"o"}]})");
  const std::pair<EngineKind, std::string> cases[] = {
      {EngineKind::kSglang, "m"}, {EngineKind::kTgi, "t"}, {EngineKind::kOllama, "o"}, {EngineKind::kOpenAi, "m"}};
  for (const auto& [kind, model] : cases) {
    EngineScraper scraper(EngineOf(kind));
    const auto found = Discover(scraper, routes);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->kind, kind);
    EXPECT_EQ(found->models[0].name, model);
    EXPECT_TRUE(Poll(scraper, routes).ok());
  }
  EngineScraper tgi(EngineOf(EngineKind::kTgi));
  EXPECT_EQ(Discover(tgi, routes)->kv_tokens, Tokens(9000));
  EngineScraper sglang(EngineOf(EngineKind::kSglang));
  EXPECT_EQ(Poll(sglang, routes)->running, 3);
  EXPECT_EQ(routes.asked["/health"], 0) << "the health page of SGLang generates a token";
}

TEST(ScrapingOthers, ImpossibleFiguresAreUnreported) {
  Routes routes = VllmRoutes();
  routes.answers["/v1/models"] = Answer(R"({"data":[{"id":"m","owned_by":"vllm","max_model_len":8e15}]})");
  EngineScraper vllm(EngineOf(EngineKind::kVllm));
  const auto found = Discover(vllm, routes);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->models[0].max_context, Tokens(0));
  Routes llama = LlamaRoutes();
  EngineScraper scraper(EngineOf(EngineKind::kLlamaCpp));
  ASSERT_TRUE(Discover(scraper, llama).ok());
  llama.answers["/slots"] = Answer(R"([{"is_processing":true,"n_prompt_tokens":60000000000}])");
  EXPECT_EQ(Poll(scraper, llama)->kv_used_share, -1);
}

}  // namespace
}  // namespace penstock
