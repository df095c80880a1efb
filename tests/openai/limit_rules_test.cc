// The output limit that the core believes, for every endpoint and engine.
#include "router/openai/request/limit_rules.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "backends/engines/catalogue/engine_catalogue.h"
#include "router/openai/request/request_scan.h"

namespace penstock {
namespace {

std::string Body(Endpoint endpoint, const std::string& limits) {
  const char* prompt = endpoint == Endpoint::kChat        ? R"("messages":[{"role":"user","content":"x"}])"
                       : endpoint == Endpoint::kResponses ? R"("input":"x")"
                                                          : R"("prompt":"x")";
  return absl::StrCat(R"({"model":"m",)", prompt, ",", limits, "}");
}

std::variant<RequestFacts, ApiError> Scan(Endpoint endpoint, const std::string& limits) {
  return ScanRequest(endpoint, Body(endpoint, limits), AllOutputLimits());
}

int64_t Most(Endpoint endpoint, const std::string& limits, std::vector<EngineKind> kinds) {
  const auto scanned = Scan(endpoint, limits);
  if (!std::holds_alternative<RequestFacts>(scanned)) return -1;
  std::vector<OutputLimits> engines;
  for (EngineKind kind : kinds) engines.push_back(EngineOf(kind).capabilities.output_limits);
  return MostOutput(std::get<RequestFacts>(scanned).limits, endpoint, engines).value();
}

constexpr EngineKind kKinds[] = {EngineKind::kVllm,   EngineKind::kSglang, EngineKind::kTgi,
                                 EngineKind::kOpenAi, EngineKind::kOllama, EngineKind::kLlamaCpp};

// 0: the engine has no limit.
struct Row {
  Endpoint endpoint;
  std::string limits;
  int64_t most[std::size(kKinds)];  // In the order of kKinds.
};

TEST(LimitRules, OnlyTheLimitsOfTheEndpointAndTheEngineCountAndOfSeveralTheLargest) {
  constexpr Endpoint kMessages = Endpoint::kChat, kText = Endpoint::kCompletions, kItems = Endpoint::kResponses;
  const Row rows[] = {
      {kMessages, R"("max_tokens":20000,"max_output_tokens":1)", {20000, 20000, 20000, 20000, 20000, 20000}},
      {kMessages, R"("max_tokens":20000,"n_predict":1)", {20000, 20000, 20000, 20000, 20000, 20000}},
      {kMessages, R"("max_tokens":1,"n_predict":20000)", {1, 1, 1, 1, 1, 20000}},
      {kMessages, R"("max_tokens":5,"max_completion_tokens":7)", {7, 7, 7, 7, 5, 7}},
      {kMessages, R"("max_tokens":7,"max_completion_tokens":5)", {7, 7, 7, 7, 7, 7}},
      {kMessages, R"("max_completion_tokens":5)", {5, 5, 5, 5, 0, 5}},
      {kMessages, R"("max_output_tokens":5)", {0, 0, 0, 0, 0, 0}},
      {kMessages, R"("n_predict":5)", {0, 0, 0, 0, 0, 5}},
      {kMessages, R"("max_tokens":5,"n_predict":-1)", {5, 5, 5, 5, 5, 0}},
      {kMessages, R"("max_tokens":-1)", {0, 0, 0, 0, 0, 0}},
      {kMessages, R"("max_tokens":null)", {0, 0, 0, 0, 0, 0}},
      {kText, R"("max_tokens":20000,"max_completion_tokens":30000)", {20000, 20000, 20000, 20000, 20000, 30000}},
      {kText, R"("max_completion_tokens":1)", {0, 0, 0, 0, 0, 1}},
      {kText, R"("max_tokens":0)", {1, 1, 1, 1, 1, 1}},
      {kText, R"("n_predict":0)", {0, 0, 0, 0, 0, 1}},
      {kItems, R"("max_output_tokens":9,"max_tokens":20000)", {9, 9, 9, 9, 9, 20000}},
      {kItems, R"("max_output_tokens":20000,"max_tokens":1)", {20000, 20000, 20000, 20000, 20000, 20000}},
      {kItems, R"("max_tokens":5)", {0, 0, 0, 0, 0, 5}},
  };
  for (const Row& row : rows) {
    for (size_t i = 0; i < std::size(kKinds); ++i) {
      EXPECT_EQ(Most(row.endpoint, row.limits, {kKinds[i]}), row.most[i])
          << EngineOf(kKinds[i]).name << " " << static_cast<int>(row.endpoint) << " " << row.limits;
    }
  }
}

TEST(LimitRules, OfSeveralKindsOfEnginesTheOneThatMayGenerateMostCounts) {
  EXPECT_EQ(Most(Endpoint::kChat, R"("max_tokens":3,"n_predict":9)", {EngineKind::kVllm, EngineKind::kLlamaCpp}), 9);
  EXPECT_EQ(Most(Endpoint::kChat, R"("n_predict":9)", {EngineKind::kVllm, EngineKind::kLlamaCpp}), 0);
}

TEST(LimitRules, MinusOneIsNoLimitWhereAnEngineOfTheModelTakesItSo) {
  const auto refused = [](Endpoint endpoint, const std::string& limits, std::vector<EngineKind> kinds) {
    const auto scanned = Scan(endpoint, limits);
    EXPECT_TRUE(std::holds_alternative<RequestFacts>(scanned)) << limits;
    if (!std::holds_alternative<RequestFacts>(scanned)) return std::string();
    std::vector<OutputLimits> engines;
    for (EngineKind kind : kinds) engines.push_back(EngineOf(kind).capabilities.output_limits);
    const auto error = CheckUnlimited(std::get<RequestFacts>(scanned).limits, endpoint, engines);
    return error ? std::string(error->param) : std::string();
  };
  for (const std::string field : {"max_tokens", "max_completion_tokens"}) {
    const std::string none = "\"" + field + "\":-1";
    EXPECT_EQ(refused(Endpoint::kChat, none, {EngineKind::kVllm}), field);
    EXPECT_EQ(refused(Endpoint::kChat, none, {EngineKind::kLlamaCpp}), "");
    EXPECT_EQ(refused(Endpoint::kChat, none, {EngineKind::kVllm, EngineKind::kLlamaCpp}), "");
    EXPECT_EQ(refused(Endpoint::kCompletions, none, {EngineKind::kLlamaCpp}), "");
    EXPECT_EQ(refused(Endpoint::kChat, none, {}), "") << "no engine is known yet";
  }
  EXPECT_EQ(refused(Endpoint::kChat, R"("n_predict":-1)", {EngineKind::kVllm}), "") << "it reads no such field";
  EXPECT_TRUE(std::holds_alternative<ApiError>(Scan(Endpoint::kResponses, R"("max_output_tokens":-1)")));
}

TEST(LimitRules, ALimitOfNothingIsForCompletions) {
  for (const char* field : {"max_tokens", "max_completion_tokens"}) {
    const auto scanned = Scan(Endpoint::kChat, absl::StrCat("\"", field, "\":0"));
    ASSERT_TRUE(std::holds_alternative<ApiError>(scanned)) << field;
    EXPECT_EQ(std::get<ApiError>(scanned).param, field);
  }
  EXPECT_TRUE(std::holds_alternative<RequestFacts>(Scan(Endpoint::kCompletions, R"("max_tokens":0)")));
  EXPECT_TRUE(std::holds_alternative<ApiError>(Scan(Endpoint::kCompletions, R"("max_tokens":-2)")));
}

TEST(LimitRules, AFieldThatNoEngineReadsAtTheEndpointIsNotTheRoutersBusiness) {
  EXPECT_EQ(Most(Endpoint::kChat, R"("max_output_tokens":"many","max_output_tokens":1)", {EngineKind::kVllm}), 0);
  EXPECT_TRUE(std::holds_alternative<ApiError>(Scan(Endpoint::kResponses, R"("max_output_tokens":"many")")));
}

}  // namespace
}  // namespace penstock
