// A request whose prompt one engine computes and another one answers: its two bodies, and the requests that may be.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "backends/dialect/handover/handover.h"
#include "backends/engines/catalogue/engine_catalogue.h"
#include "router/openai/request/body_splice.h"

namespace penstock {
namespace {

using nlohmann::json;

RequestFacts ScannedFacts(Endpoint endpoint, const std::string& body) {
  const auto scanned = ScanRequest(endpoint, body, AllOutputLimits());
  if (std::holds_alternative<RequestFacts>(scanned)) return std::get<RequestFacts>(scanned);
  ADD_FAILURE() << std::get<ApiError>(scanned).message;
  return {};
}

json PromptOnly(Endpoint endpoint, const std::string& body) {
  SpliceOrder order;
  order.prompt_only = true;
  order.handover = kPrefillOrder;
  const std::string text = SplicedBody(body, endpoint, ScannedFacts(endpoint, body), order).Joined();
  // No key may stand there twice.
  std::set<std::string> keys;
  return json::parse(text, [&](int at, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::key && at == 1) {
      EXPECT_TRUE(keys.insert(value.get<std::string>()).second) << text;
    }
    return true;
  });
}

const std::string kOpenChat = "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]";

TEST(HandoverSplice, APromptAsksForOneTokenAndNoStream) {
  const json plain = PromptOnly(Endpoint::kChat, kOpenChat + "}");
  EXPECT_EQ(plain["max_tokens"], 1);
  EXPECT_EQ(plain["kv_transfer_params"], json::parse(kPrefillOrder));
  const json full = PromptOnly(
      Endpoint::kChat, kOpenChat +
                           ",\"stream\":true,\"stream_options\":{\"include_usage\":true},\"max_tokens\":50,"
                           "\"max_completion_tokens\":60,\"min_tokens\":5,\"kv_transfer_params\":{\"a\":1},\"x\":2}");
  EXPECT_EQ(full["stream"], false);
  EXPECT_TRUE(full["stream_options"].is_null());
  EXPECT_EQ(full["max_tokens"], 1);
  EXPECT_EQ(full["max_completion_tokens"], 1);
  EXPECT_EQ(full["min_tokens"], 0);
  EXPECT_EQ(full["kv_transfer_params"], json::parse(kPrefillOrder));
  EXPECT_EQ(full["x"], 2);
}

TEST(HandoverSplice, NullsAndFieldsOfOtherEnginesAreNoLimits) {
  const json nulls =
      PromptOnly(Endpoint::kChat, kOpenChat + ",\"max_tokens\":null,\"stream\":null,\"min_tokens\":null}");
  EXPECT_EQ(nulls["max_tokens"], 1);
  EXPECT_EQ(nulls["stream"], false);
  const json other = PromptOnly(Endpoint::kChat, kOpenChat + ",\"n_predict\":9}");
  EXPECT_EQ(other["max_tokens"], 1);
  const json completion = PromptOnly(Endpoint::kCompletions, "{\"model\":\"m\",\"prompt\":\"a\",\"max_tokens\":7}");
  EXPECT_EQ(completion["max_tokens"], 1);
}

TEST(HandoverSplice, ACutAnswerGoesOnInBothBodies) {
  SpliceOrder order;
  order.prompt_only = true;
  order.handover = kPrefillOrder;
  order.continue_from = "so far";
  order.already_generated = Tokens(3);
  const std::string body = kOpenChat + ",\"max_tokens\":50}";
  const json prompt =
      json::parse(SplicedBody(body, Endpoint::kChat, ScannedFacts(Endpoint::kChat, body), order).Joined());
  EXPECT_EQ(prompt["messages"].back()["content"], "so far");
  EXPECT_EQ(prompt["max_tokens"], 1);
  EXPECT_EQ(prompt["continue_final_message"], true);
  order.prompt_only = false;
  order.handover = "{\"do_remote_prefill\":true}";
  const json answer =
      json::parse(SplicedBody(body, Endpoint::kChat, ScannedFacts(Endpoint::kChat, body), order).Joined());
  EXPECT_EQ(answer["max_tokens"], 47);
  EXPECT_EQ(answer["kv_transfer_params"]["do_remote_prefill"], true);
}

TEST(HandoverSplice, AnswersThatNeedThePromptAgainAreIndivisible) {
  const auto divisible = [](Endpoint endpoint, const std::string& body) {
    RequestFacts facts = ScannedFacts(endpoint, body);
    for (const GivenLimit& limit : facts.limits) facts.max_output = Tokens(limit.value.value_or(0));
    return facts.Divisible(endpoint);
  };
  const std::string completion = "{\"model\":\"m\",\"prompt\":\"a\"";
  EXPECT_TRUE(divisible(Endpoint::kChat, kOpenChat + "}"));
  EXPECT_TRUE(divisible(Endpoint::kChat, kOpenChat + ",\"stream\":true,\"tools\":[],\"logprobs\":true}"));
  EXPECT_TRUE(divisible(Endpoint::kCompletions, completion + "}"));
  EXPECT_FALSE(divisible(Endpoint::kChat, kOpenChat + ",\"n\":2}"));
  EXPECT_FALSE(divisible(Endpoint::kChat, kOpenChat + ",\"max_tokens\":1}"));
  EXPECT_FALSE(divisible(Endpoint::kChat, kOpenChat + ",\"prompt_logprobs\":1}"));
  EXPECT_FALSE(divisible(Endpoint::kCompletions, completion + ",\"echo\":true}"));
  EXPECT_FALSE(divisible(Endpoint::kCompletions, completion + ",\"best_of\":2}"));
  EXPECT_FALSE(divisible(Endpoint::kCompletions, "{\"model\":\"m\",\"prompt\":[\"a\",\"b\"]}"));
  EXPECT_FALSE(divisible(Endpoint::kEmbeddings, "{\"model\":\"m\",\"input\":\"a\"}"));
  EXPECT_FALSE(divisible(Endpoint::kResponses, "{\"model\":\"m\",\"input\":\"a\"}"));
  EXPECT_FALSE(divisible(Endpoint::kMessages, kOpenChat + ",\"max_tokens\":9}"));
}

}  // namespace
}  // namespace penstock
