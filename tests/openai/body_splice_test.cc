#include "router/openai/request/body_splice.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "backends/engines/catalogue/engine_catalogue.h"

namespace penstock {
namespace {

std::string Splice(Endpoint endpoint, const std::string& body, const SpliceOrder& order) {
  const auto scanned = ScanRequest(endpoint, body, AllOutputLimits());
  if (!std::holds_alternative<RequestFacts>(scanned)) {
    ADD_FAILURE() << std::get<ApiError>(scanned).message;
    return "";
  }
  return SplicedBody(body, endpoint, std::get<RequestFacts>(scanned), order).Joined();
}

const std::string kChat =
    "{ \"messages\":[{\"role\":\"user\",\"content\":\"h\\u00e9\"}],\t\"model\" : \"m\", \"x\":1.50 }";

TEST(BodySplice, ABodyThatNeedsNothingPassesByteForByte) {
  EXPECT_EQ(Splice(Endpoint::kChat, kChat, SpliceOrder{}), kChat);
}

TEST(BodySplice, TheModelIsReplacedInPlace) {
  SpliceOrder order;
  order.engine_model = "org/big \"one\"";
  const std::string expected =
      "{ \"messages\":[{\"role\":\"user\",\"content\":\"h\\u00e9\"}],\t\"model\" : \"org/big \\\"one\\\"\", \"x\":1.50 "
      "}";
  EXPECT_EQ(Splice(Endpoint::kChat, kChat, order), expected);
}

TEST(BodySplice, UsageIsAskedForInEveryShapeOfStreamOptions) {
  SpliceOrder order;
  order.ask_usage = true;
  for (const std::string options :
       {"", ",\"stream_options\":null", ",\"stream_options\":{}", ",\"stream_options\":{ \n  }",
        ",\"stream_options\":{\"include_usage\":false}", ",\"stream_options\":{\"continuous_usage_stats\":true}",
        ",\"stream_options\":{\"include_usage\":null,\"a\":1}", ",\"stream_options\":{\"include_usage\":true}"}) {
    const std::string body = R"({"model":"m","messages":[{"role":"user","content":"x"}],"stream":true)" + options + "}";
    const auto parsed = nlohmann::json::parse(Splice(Endpoint::kChat, body, order));
    EXPECT_EQ(parsed["stream_options"]["include_usage"], true) << options;
    EXPECT_EQ(parsed["stream"], true) << options;
  }
}

TEST(BodySplice, AStreamIsForcedWhetherOrNotTheFieldIsThere) {
  SpliceOrder order;
  order.force_stream = true;
  for (const std::string stream : {"", ",\"stream\":false", ",\"stream\":null"}) {
    const std::string body = R"({"model":"m","messages":[{"role":"user","content":"x"}])" + stream + "}";
    EXPECT_EQ(nlohmann::json::parse(Splice(Endpoint::kChat, body, order))["stream"], true) << stream;
  }
}

TEST(BodySplice, AChatIsContinuedFromWhatWasDelivered) {
  SpliceOrder order;
  order.continue_from = R"(one \"two\"\n)";
  order.already_generated = Tokens(3);
  const std::string body = R"({"model":"m","max_tokens":10,"messages":[{"role":"user","content":"x"}]})";
  const auto parsed = nlohmann::json::parse(Splice(Endpoint::kChat, body, order));
  ASSERT_EQ(parsed["messages"].size(), 2u);
  EXPECT_EQ(parsed["messages"][1]["role"], "assistant");
  EXPECT_EQ(parsed["messages"][1]["content"], "one \"two\"\n");
  EXPECT_EQ(parsed["continue_final_message"], true);
  EXPECT_EQ(parsed["add_generation_prompt"], false);
  EXPECT_EQ(parsed["max_tokens"], 7);
}

TEST(BodySplice, AMessageIsContinuedByALastMessageOfTheAssistant) {
  SpliceOrder order;
  order.continue_from = R"(one \"two\")";
  order.already_generated = Tokens(3);
  const std::string body = R"({"model":"m","max_tokens":10,"messages":[{"role":"user","content":"x"}]})";
  const auto parsed = nlohmann::json::parse(Splice(Endpoint::kMessages, body, order));
  EXPECT_EQ(parsed["messages"][1], nlohmann::json::parse(R"({"role":"assistant","content":"one \"two\""})"));
  EXPECT_EQ(parsed["max_tokens"], 7);
  EXPECT_EQ(parsed.size(), 3u) << "no field that only chats have";
}

TEST(BodySplice, EveryLimitOfTheOutputShrinksByTheDeliveredTokens) {
  SpliceOrder order;
  order.continue_from = "one";
  order.already_generated = Tokens(3);
  const std::string body =
      R"({"model":"m","max_tokens":10,"n_predict":-1,"messages":[{"role":"user","content":"x"}],"max_completion_tokens":2})";
  const auto parsed = nlohmann::json::parse(Splice(Endpoint::kChat, body, order));
  EXPECT_EQ(parsed["max_tokens"], 7);
  EXPECT_EQ(parsed["max_completion_tokens"], 1);
  EXPECT_EQ(parsed["n_predict"], -1);
}

TEST(BodySplice, ACompletionIsContinuedByALongerPrompt) {
  SpliceOrder order;
  order.continue_from = R"(\u00e9\")";
  const std::string body = R"({"model":"m","prompt":"Once \u00e9"})";
  EXPECT_EQ(nlohmann::json::parse(Splice(Endpoint::kCompletions, body, order))["prompt"], "Once éé\"");
}

TEST(BodySplice, PiecesStayValidWhenItMoves) {
  SpliceOrder order;
  order.engine_model = "n";
  const auto facts = std::get<RequestFacts>(ScanRequest(Endpoint::kChat, kChat, AllOutputLimits()));
  SplicedBody first(kChat, Endpoint::kChat, facts, order);
  const std::string before = first.Joined();
  SplicedBody second(std::move(first));
  EXPECT_EQ(second.Joined(), before);
}

}  // namespace
}  // namespace penstock
