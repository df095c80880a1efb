#include "backends/simulated/face/pages.h"

#include <nlohmann/json.hpp>

#include "gtest/gtest.h"
#include "tests/simulated/engine_fixture.h"

namespace penstock::simulated {
namespace {

class PagesTest : public testing::TestWithParam<bool> {
 protected:
  Page Ask(std::string_view method, std::string_view path, std::string_view body = "") const {
    PageRequest request;
    request.method = method;
    request.path = path;
    request.body = body;
    return AnswerPage(request, engine_);
  }
  nlohmann::json JsonOf(std::string_view method, std::string_view path, std::string_view body = "") const {
    return nlohmann::json::parse(Ask(method, path, body).body, nullptr, false);
  }
  Engine engine_{SmallSpec(GetParam()), Instant()};
};

TEST_P(PagesTest, HealthAndMetricsAnswer) {
  EXPECT_EQ(Ask("GET", "/health").status, 200);
  const Page metrics = Ask("GET", "/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_EQ(metrics.body.find(GetParam() ? "vllm:" : "llamacpp:"), std::string::npos);
  EXPECT_NE(metrics.body.find(GetParam() ? "llamacpp:requests_processing 0" : "vllm:num_requests_running{"),
            std::string::npos);
}

TEST_P(PagesTest, UnknownPathsAre404) {
  EXPECT_EQ(Ask("GET", "/nothing").status, 404);
  EXPECT_EQ(Ask("DELETE", "/nothing").status, 404);
}

TEST_P(PagesTest, TokensGoToIdsAndBack) {
  const char* field = GetParam() ? "content" : "prompt";
  const std::string asked = nlohmann::json{{field, "Hello there, world"}, {"add_special_tokens", false}}.dump();
  const nlohmann::json ids = JsonOf("POST", "/tokenize", asked)["tokens"];
  ASSERT_TRUE(ids.is_array());
  EXPECT_EQ(JsonOf("POST", "/detokenize", nlohmann::json{{"tokens", ids}}.dump())[field], "Hello there, world");
}

INSTANTIATE_TEST_SUITE_P(Dialects, PagesTest, testing::Bool(),
                         [](const auto& dialect) { return std::string(dialect.param ? "LlamaServer" : "Vllm"); });

TEST(VllmPages, AKnownPathWithAnotherMethodIs405) {
  const Engine engine(SmallSpec(), Instant());
  PageRequest request;
  request.method = "DELETE";
  request.path = "/v1/models";
  EXPECT_EQ(AnswerPage(request, engine).status, 405);
}

TEST(VllmPages, AModelIsFoundByItsNameAndByItsAlias) {
  const Engine engine(SmallSpec(), Instant());
  PageRequest request;
  request.method = "GET";
  for (const auto& [path, status] :
       {std::pair("/v1/models/base", 200), std::pair("/v1/models/alias", 200), std::pair("/v1/models/no", 404)}) {
    request.path = path;
    EXPECT_EQ(AnswerPage(request, engine).status, status) << path;
  }
}

TEST(LlamaPages, SlotsShowTheTokensOfTheRunningSequences) {
  Engine engine(SmallSpec(true), Instant());
  SequenceOrder order;
  order.prompt = Tokens(30);
  order.output = Tokens(10);
  ASSERT_TRUE(engine.Submit(order, Instant()));
  engine.BeginStep(Instant());
  PageRequest request;
  request.method = "GET";
  request.path = "/slots";
  const auto slots = nlohmann::json::parse(AnswerPage(request, engine).body);
  ASSERT_EQ(slots.size(), 4u);
  EXPECT_TRUE(slots[0]["is_processing"]);
  EXPECT_EQ(slots[0]["n_prompt_tokens"], 30);
  EXPECT_FALSE(slots[1]["is_processing"]);
}

}  // namespace
}  // namespace penstock::simulated
