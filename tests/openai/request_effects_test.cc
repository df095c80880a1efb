// Facts that decide whether a request may run twice, or stream at all.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "backends/engines/catalogue/engine_catalogue.h"
#include "router/openai/request/request_scan.h"

namespace penstock {
namespace {

RequestFacts ScanFor(Endpoint endpoint, const std::string& body) {
  auto result = ScanRequest(endpoint, body, AllOutputLimits());
  if (const ApiError* error = std::get_if<ApiError>(&result)) ADD_FAILURE() << error->message;
  return std::holds_alternative<RequestFacts>(result) ? std::get<RequestFacts>(result) : RequestFacts();
}

std::string ChatWith(const std::string& more) {
  return R"({"model":"m","messages":[{"role":"user","content":"Hello there"}])" + more + "}";
}

TEST(RequestScan, VectorsAndRankingsDoNotStream) {
  const std::string more = R"(,"stream":true,"stream_options":{"include_usage":true}})";
  EXPECT_FALSE(ScanFor(Endpoint::kEmbeddings, R"({"model":"m","input":"a")" + more).stream);
  EXPECT_FALSE(ScanFor(Endpoint::kEmbeddings, R"({"model":"m","input":"a","stream":"yes"})").stream);
  EXPECT_FALSE(ScanFor(Endpoint::kRerank, R"({"model":"m","query":"a","documents":["b"])" + more).stream);
}

TEST(RequestScan, ASeedBarsAContinuationUnlessNothingIsDrawn) {
  EXPECT_FALSE(ScanFor(Endpoint::kChat, ChatWith(R"(,"seed":7)")).Continuable(Endpoint::kChat));
  EXPECT_FALSE(ScanFor(Endpoint::kChat, ChatWith(R"(,"seed":7,"temperature":0.5)")).Continuable(Endpoint::kChat));
  EXPECT_TRUE(ScanFor(Endpoint::kChat, ChatWith(R"(,"seed":7,"temperature":0)")).Continuable(Endpoint::kChat));
}

TEST(RequestScan, ResponsesTellTheirEffects) {
  const auto scan = [](const std::string& more) {
    return ScanFor(Endpoint::kResponses, R"({"model":"m","input":"a")" + more + "}");
  };
  EXPECT_TRUE(scan("").has_effects) << "responses are stored unless the request says no";
  EXPECT_TRUE(scan(R"(,"store":true)").has_effects);
  EXPECT_FALSE(scan(R"(,"store":false)").has_effects);
  EXPECT_FALSE(scan(R"(,"store":false,"tools":[{"type":"function","name":"f"}])").has_effects);
  EXPECT_TRUE(scan(R"(,"store":false,"tools":[{"type":"function"},{"type":"mcp"}])").has_effects);
  EXPECT_TRUE(scan(R"(,"previous_response_id":"r1")").continues_response);
  EXPECT_TRUE(scan(R"(,"conversation":"c1")").continues_response);
  EXPECT_TRUE(scan(R"(,"conversation":{"id":"c1"})").continues_response);
  EXPECT_FALSE(ScanFor(Endpoint::kChat, ChatWith(R"(,"store":true)")).has_effects);
  EXPECT_TRUE(scan(R"(,"background":true)").background);
  const auto unkept = ScanRequest(Endpoint::kResponses, R"({"model":"m","input":"a","background":true,"store":false})",
                                  AllOutputLimits());
  EXPECT_EQ(std::get<ApiError>(unkept).param, "background");
}

TEST(RequestScan, ToolsThatTheProviderOfAMessageRunsAreEffects) {
  const auto effects = [](const std::string& tools) {
    const std::string body = R"({"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"}])";
    return ScanFor(Endpoint::kMessages, body + (tools.empty() ? "" : ",\"tools\":" + tools) + "}").has_effects;
  };
  EXPECT_FALSE(effects(""));
  EXPECT_FALSE(effects("[]"));
  EXPECT_FALSE(effects(R"([{"name":"look","input_schema":{}}])"));
  EXPECT_TRUE(effects(R"([{"type":"web_search_20250305","name":"web_search"}])"));
  EXPECT_TRUE(effects(R"([{"name":"look"},{"type":"web_fetch_20250910","name":"f"}])"));
  EXPECT_TRUE(effects(R"([{"type":"code_execution_20250522","name":"c"}])"));
  EXPECT_TRUE(effects("[\"" + std::string(1 << 20, 'x') + "\"]")) << "a list that is too long to be searched";
}

TEST(RequestScan, APromptThatTheEngineHasStoredNeedsNoInput) {
  const auto scan = [](const std::string& more) {
    return ScanFor(Endpoint::kResponses, R"({"model":"m","store":false,"prompt":)" + more + "}");
  };
  const RequestFacts named = scan(R"({"id":"pmpt_1","version":"2","variables":{"city":"Oslo"}})");
  EXPECT_EQ(named.text.tool_bytes, 57) << "its variables count";
  EXPECT_EQ(named.prompts, 1);
  EXPECT_TRUE(named.has_effects) << "it may bring tools";
  EXPECT_FALSE(named.media);
  const RequestFacts beside = scan(R"({"id":"pmpt_1"},"input":"the river","instructions":"be short")");
  EXPECT_EQ(beside.text.words, 4);
  EXPECT_EQ(beside.text.tool_bytes, 15);
  const std::string picture = "data:image/png;base64," + std::string(100'000, 'A');
  const RequestFacts files =
      scan(R"({"id":"p","variables":{"a":{"type":"input_image","image_url":")" + picture + "\"}}}");
  EXPECT_EQ(files.text.tool_bytes, 0) << "bytes of a picture are no text";
  ASSERT_TRUE(files.media);
  EXPECT_EQ(files.media->opaque, 1);
  for (const char* none : {R"("pmpt_1")", "null", "[]", "7"}) {
    const auto result =
        ScanRequest(Endpoint::kResponses, absl::StrCat(R"({"model":"m","prompt":)", none, "}"), AllOutputLimits());
    ASSERT_TRUE(std::holds_alternative<ApiError>(result)) << none;
    EXPECT_EQ(std::get<ApiError>(result).param, "input");
  }
}

}  // namespace
}  // namespace penstock
