// The fields that hold the prompts of scores, poolings, classifications and moderations, and those that a template
// renders.
#include "router/openai/request/prompt_fields.h"

#include <gtest/gtest.h>

#include <string>

#include "backends/engines/catalogue/engine_catalogue.h"

namespace penstock {
namespace {

RequestFacts FactsOf(Endpoint endpoint, absl::string_view body) {
  auto result = ScanRequest(endpoint, body, AllOutputLimits());
  const ApiError* error = std::get_if<ApiError>(&result);
  EXPECT_EQ(error, nullptr) << body << (error == nullptr ? "" : error->message);
  return error == nullptr ? std::get<RequestFacts>(result) : RequestFacts{};
}

ApiError FaultOf(Endpoint endpoint, absl::string_view body) {
  auto result = ScanRequest(endpoint, body, AllOutputLimits());
  const ApiError* error = std::get_if<ApiError>(&result);
  EXPECT_NE(error, nullptr) << body;
  return error == nullptr ? ApiError() : *error;
}

TEST(PromptFields, EachSecondTextIsReadBesideTheFirst) {
  for (const char* body : {R"({"model":"m","text_1":"four","text_2":["aa","bbb"]})",
                           R"({"model":"m","queries":"four","documents":["aa","bbb"]})",
                           R"({"model":"m","query":"four","items":["aa","bbb"]})",
                           R"({"documents":["aa","bbb"],"model":"m","queries":["four"]})"}) {
    const RequestFacts facts = FactsOf(Endpoint::kScore, body);
    EXPECT_EQ(facts.prompts, 2) << body;
    EXPECT_EQ(facts.text.latin, 2 * 4 + 2 + 3) << body;
    EXPECT_EQ(facts.LargestPrompt().latin, 4 + 3) << body;
  }
}

TEST(PromptFields, AsManyFirstTextsAsSecondOnesMakePairs) {
  const RequestFacts facts =
      FactsOf(Endpoint::kScore, R"({"model":"m","text_1":["four","fives"],"text_2":["aa","bbb"]})");
  EXPECT_EQ(facts.text.latin, 4 + 5 + 2 + 3);
  EXPECT_EQ(facts.LargestPrompt().latin, 5 + 3);
}

TEST(PromptFields, ASingleTextOrObjectIsOnePrompt) {
  EXPECT_EQ(FactsOf(Endpoint::kScore, R"({"model":"m","text_1":"a","text_2":"bbb"})").text.latin, 4);
  EXPECT_EQ(FactsOf(Endpoint::kModerations, R"({"model":"m","input":"bbb"})").text.latin, 3);
  EXPECT_GT(FactsOf(Endpoint::kScore, R"({"model":"m","text_1":"a","text_2":{"content":[]}})").text.latin, 4);
  EXPECT_GT(FactsOf(Endpoint::kModerations, R"({"model":"m","input":[{"type":"text","text":"bbb"}]})").text.latin, 3);
}

TEST(PromptFields, PoolingTakesTextsTokensOrMessages) {
  for (const Endpoint endpoint : {Endpoint::kPooling, Endpoint::kClassify}) {
    EXPECT_EQ(FactsOf(endpoint, R"({"model":"m","input":["aa","b"]})").prompts, 2);
    EXPECT_EQ(FactsOf(endpoint, R"({"model":"m","input":[1,2,3]})").text.exact_tokens, 3);
    EXPECT_EQ(FactsOf(endpoint, R"({"model":"m","messages":[{"role":"user","content":"aa"}]})").text.latin, 2);
  }
}

TEST(PromptFields, ASecondFieldForThePromptIsRefused) {
  const ApiError error = FaultOf(Endpoint::kPooling, R"({"model":"m","input":"a","messages":[]})");
  EXPECT_EQ(error.param, "messages");
  EXPECT_EQ(error.bad_input, BadInput::kOutOfRange);
  EXPECT_EQ(FaultOf(Endpoint::kScore, R"({"model":"m","text_1":"a","query":"b","items":["c"]})").param, "query");
}

TEST(PromptFields, ADocumentOfTextCountsAsTextAndAnEncodedOneIsOpaque) {
  const auto with_source = [](const std::string& source) {
    return FactsOf(Endpoint::kMessages, R"({"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":)"
                                        R"("document","source":)" +
                                            source + "}]}]}");
  };
  const std::string words(3000, 'w');
  for (const std::string& source : {R"({"type":"text","media_type":"text/plain","data":")" + words + "\"}",
                                    R"({"data":")" + words + R"(","type":"text"})",
                                    R"({"type":"content","content":[{"type":"text","text":")" + words + "\"}]}"}) {
    EXPECT_GE(with_source(source).text.tool_bytes, 3000) << source.substr(0, 40);
    EXPECT_FALSE(with_source(source).media);
  }
  const RequestFacts encoded =
      with_source(R"({"type":"base64","media_type":"application/pdf","data":")" + words + "\"}");
  EXPECT_EQ(encoded.media->opaque, 1);
  EXPECT_EQ(encoded.text.tool_bytes, 0);
}

TEST(PromptFields, AMissingFieldIsNamed) {
  EXPECT_EQ(FaultOf(Endpoint::kScore, R"({"model":"m","text_1":"x"})").param, "text_2");
  EXPECT_EQ(FaultOf(Endpoint::kScore, R"({"model":"m"})").param, "text_1");
  EXPECT_EQ(FaultOf(Endpoint::kPooling, R"({"model":"m"})").param, "input");
}

TEST(PromptFields, AFreeEndpointNeedsAModelOnly) {
  EXPECT_EQ(FactsOf(Endpoint::kTokenize, R"({"model":"m","content":"aa"})").text, TextCounts());
  EXPECT_EQ(FactsOf(Endpoint::kDetokenize, R"({"model":"m","tokens":[1]})").model, "m");
  EXPECT_EQ(FaultOf(Endpoint::kTokenize, R"({"prompt":"aa"})").param, "model");
}

TEST(PromptFields, ARoleBeyondTheUsualLengthIsCounted) {
  const auto letters = [](const std::string& role) {
    return FactsOf(Endpoint::kChat, R"({"model":"m","messages":[{"role":")" + role + R"(","content":"four"}]})")
        .text.latin;
  };
  for (const char* role : {"user", "assistant", "developer"}) EXPECT_EQ(letters(role), 4) << role;
  EXPECT_EQ(letters(std::string(100'000, 'r')), 100'004);
}

TEST(PromptFields, EveryPlaceThatAnEngineRendersIsCounted) {
  const auto latin = [](Endpoint endpoint, const std::string& body) { return FactsOf(endpoint, body).text.latin; };
  const std::string message = R"({"model":"m","messages":[{"role":"assistant","content":)";
  EXPECT_EQ(latin(Endpoint::kChat, message + R"([{"type":"thinking","thinking":"four"}]}]})"), 4);
  EXPECT_EQ(latin(Endpoint::kChat, message + R"("", "reasoning":"four"}]})"), 4);
  EXPECT_EQ(latin(Endpoint::kChat, message + R"("", "tool_call_id":"four"}]})"), 4);
  EXPECT_GT(latin(Endpoint::kChat, message + R"("", "tools":[{"type":"function"}]}]})"), 0);
  EXPECT_EQ(latin(Endpoint::kResponses,
                  R"({"model":"m","input":[{"type":"reasoning","summary":[{"type":"summary_text","text":"four"}]}]})"),
            4);
  const auto chat = [](const std::string& more) {
    return R"({"model":"m","messages":[{"role":"user","content":"Hello"}])" + more + "}";
  };
  const auto rendered = [](Endpoint endpoint, const std::string& body) {
    return FactsOf(endpoint, body).text.tool_bytes;
  };
  EXPECT_EQ(rendered(Endpoint::kChat, chat("")), 0);
  EXPECT_EQ(rendered(Endpoint::kChat, chat(R"(,"documents":[{"text":"four"}])")), 17);
  EXPECT_EQ(rendered(Endpoint::kChat, chat(R"(,"chat_template":"four")")), 6);
  EXPECT_EQ(rendered(Endpoint::kChat, chat(R"(,"chat_template_kwargs":{"a":"b"})")), 9);
  EXPECT_EQ(rendered(Endpoint::kCompletions, R"({"model":"m","prompt":"a","suffix":"four"})"), 6);
  EXPECT_EQ(rendered(Endpoint::kRerank, R"({"model":"m","query":"a","documents":["four"]})"), 0) << "they are prompts";
}

}  // namespace
}  // namespace penstock
