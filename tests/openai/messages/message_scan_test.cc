// Requests in Anthropic's dialect: the facts that the router reads of them, and errors in its form.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "backends/engines/catalogue/engine_catalogue.h"
#include "router/anthropic/error_form.h"
#include "router/openai/request/request_scan.h"

namespace penstock {
namespace {

std::string Message(const std::string& content, const std::string& more = "") {
  return R"({"model":"m","max_tokens":7,"messages":[{"role":"user","content":)" + content + "}]" + more + "}";
}

RequestFacts FactsOfMessage(const std::string& body) {
  auto result = ScanRequest(Endpoint::kMessages, body, AllOutputLimits());
  const ApiError* error = std::get_if<ApiError>(&result);
  EXPECT_EQ(error, nullptr) << body << (error == nullptr ? "" : error->message);
  return error == nullptr ? std::get<RequestFacts>(result) : RequestFacts{};
}

std::string FaultOfMessage(const std::string& body) {
  auto result = ScanRequest(Endpoint::kMessages, body, AllOutputLimits());
  const ApiError* error = std::get_if<ApiError>(&result);
  EXPECT_NE(error, nullptr) << body;
  return error == nullptr ? "" : error->param;
}

TEST(MessageScan, AllKindsOfBlocksAreCounted) {
  EXPECT_EQ(FactsOfMessage(Message("\"four\"")).text.latin, 4);
  EXPECT_EQ(
      FactsOfMessage(Message(R"([{"type":"text","text":"four","cache_control":{"type":"ephemeral"}}])")).text.latin, 4);
  EXPECT_EQ(FactsOfMessage(Message(R"([{"type":"thinking","thinking":"four","signature":"xxxxx"}])")).text.latin, 4);
  EXPECT_EQ(FactsOfMessage(Message(R"([{"type":"tool_result","content":"four"}])")).text.latin, 4);
  EXPECT_EQ(FactsOfMessage(Message(R"([{"type":"tool_result","content":[{"type":"text","text":"four"}]}])")).text.latin,
            4);
  EXPECT_EQ(FactsOfMessage(Message(R"([{"type":"tool_use","name":"look","input":{"a":"b"}}])")).text.latin, 6);
  EXPECT_EQ(FactsOfMessage(Message(R"([{"type":"document","title":"four","context":"six","source":{}}])")).text.latin,
            7);
}

TEST(MessageScan, AnImageIsOneWhereverItStands) {
  const std::string image = R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":"aaaa"}})";
  for (const std::string& content : {"[" + image + "]", R"([{"type":"tool_result","content":[)" + image + "]}]"}) {
    const RequestFacts facts = FactsOfMessage(Message(content));
    EXPECT_EQ(facts.media->unsized, 1);
    EXPECT_EQ(facts.media->opaque, 0);
    EXPECT_EQ(facts.text.latin, 0);
  }
}

TEST(MessageScan, TheSystemAndTheToolsStandBeforeTheMessages) {
  const RequestFacts text = FactsOfMessage(Message("\"four\"", R"(,"system":"be")"));
  const RequestFacts blocks = FactsOfMessage(Message("\"four\"", R"(,"system":[{"type":"text","text":"be"}])"));
  EXPECT_EQ(text.text, blocks.text);
  EXPECT_EQ(text.text.latin, 6);
  EXPECT_EQ(text.before_prompt.size(), 1u);
  const RequestFacts tools = FactsOfMessage(Message("\"four\"", R"(,"system":"be","tools":[{"name":"look"}])"));
  EXPECT_EQ(tools.before_prompt.size(), 2u);
  EXPECT_TRUE(tools.has_tools);
  EXPECT_GT(tools.text.tool_bytes, 0);
  EXPECT_NE(tools.shape, text.shape);
}

TEST(MessageScan, LimitAndStreamAreRead) {
  const RequestFacts facts = FactsOfMessage(Message("\"x\"", R"(,"stream":true)"));
  EXPECT_TRUE(facts.stream);
  ASSERT_EQ(facts.limits.size(), 1u);
  EXPECT_EQ(facts.limits[0].value, 7);
  EXPECT_TRUE(facts.Continuable(Endpoint::kMessages));
  EXPECT_FALSE(facts.has_effects);
}

TEST(MessageScan, AMessageWithAFormatOrToolsOrItsOwnBeginningIsNotContinuable) {
  for (const char* more :
       {R"(,"output_config":{"format":{"type":"json_schema"}})", R"(,"output_format":{})", R"(,"tools":[])"}) {
    EXPECT_FALSE(FactsOfMessage(Message("\"x\"", more)).Continuable(Endpoint::kMessages)) << more;
  }
  const RequestFacts own = FactsOfMessage(
      R"({"model":"m","max_tokens":7,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]})");
  EXPECT_FALSE(own.Continuable(Endpoint::kMessages));
}

TEST(MessageScan, FaultsAreNamed) {
  EXPECT_EQ(FaultOfMessage(Message("5")), "messages[0].content");
  EXPECT_EQ(FaultOfMessage(Message("[5]")), "messages[0].content");
  EXPECT_EQ(FaultOfMessage(Message("\"x\"", R"(,"system":5)")), "system");
  EXPECT_EQ(FaultOfMessage(Message("\"x\"", R"(,"system":[5])")), "system");
  EXPECT_EQ(FaultOfMessage(Message("\"x\"", R"(,"system":"a","system":"b")")), "system");
  EXPECT_EQ(FaultOfMessage(R"({"model":"m","max_tokens":1})"), "messages");
  EXPECT_EQ(FaultOfMessage(R"({"model":"m","messages":[{"content":"x"}]})"), "messages[0].role");
}

TEST(MessageScan, ABlockHasItsTextOnce) {
  EXPECT_EQ(FaultOfMessage(Message(R"([{"type":"text","text":"short","text":"long"}])")), "messages[0].content");
  EXPECT_EQ(FaultOfMessage(Message(R"([{"type":"text","text":"a","te\u0078t":"b"}])")), "messages[0].content");
  EXPECT_EQ(FaultOfMessage(Message(R"([{"type":"tool_result","content":[{"type":"text","text":"a"}],"content":"b"}])")),
            "messages[0].content");
  EXPECT_EQ(FaultOfMessage(Message("\"x\"", R"(,"system":[{"type":"text","text":"a","text":"b"}])")), "system");
  const std::string two = R"([{"type":"text","text":"four"},{"type":"text","text":"four"}])";
  EXPECT_EQ(FactsOfMessage(Message(two)).text.latin, 8);
}

TEST(MessageScan, BlocksMayNestWithoutAnEnd) {
  std::string content = "\"x\"";
  for (int i = 0; i < 20; ++i) content = R"([{"type":"tool_result","content":)" + content + "}]";
  FactsOfMessage(Message(content));
}

TEST(AnthropicErrors, EveryRowHasTheFormAndATypeOfItsStatus) {
  for (int i = 0; i < kErrorCount; ++i) {
    const ApiError error = MakeError(static_cast<ErrorName>(i), "no \"water\"");
    const auto body = nlohmann::json::parse(AnthropicErrorBody(error, "req-1"));
    EXPECT_EQ(body["type"], "error");
    EXPECT_EQ(body["error"]["message"], "no \"water\"");
    EXPECT_EQ(body["error"]["type"], std::string(AnthropicType(error.status)));
    EXPECT_EQ(body["request_id"], "req-1");
  }
  EXPECT_EQ(AnthropicType(429), "rate_limit_error");
  EXPECT_EQ(AnthropicType(503), "overloaded_error");
  EXPECT_EQ(AnthropicType(401), "authentication_error");
}

}  // namespace
}  // namespace penstock
