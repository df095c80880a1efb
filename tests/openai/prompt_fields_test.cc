// The fields that hold the prompts of scores, poolings, classifications and moderations, and those that a template
// renders.
#include "router/openai/request/prompt_fields.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
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

TEST(PromptFields, TensorsCountByTheirBytesAndArePromptsOfTheirOwn) {
  for (const char* body :
       {R"({"model":"m","prompt":"","prompt_embeds":"AAAAAAAA"})", R"({"model":"m","prompt_embeds":["AAAAAAAA"]})",
        R"({"prompt_embeds":"AAAAAAAA","model":"m","prompt":null})"}) {
    const RequestFacts facts = FactsOf(Endpoint::kCompletions, body);
    ASSERT_TRUE(facts.media) << body;
    EXPECT_EQ(facts.media->embedded, 6) << body;
    EXPECT_EQ(facts.prompts, 1) << body;
    EXPECT_FALSE(facts.Continuable(Endpoint::kCompletions)) << body;
  }
  const RequestFacts mixed =
      FactsOf(Endpoint::kCompletions, R"({"model":"m","prompt":["a","b"],"prompt_embeds":["AAAA","AAAA"]})");
  EXPECT_EQ(mixed.prompts, 4);
  EXPECT_EQ(mixed.media->embedded, 6);
  EXPECT_EQ(mixed.text.latin, 2);
  EXPECT_FALSE(FactsOf(Endpoint::kCompletions, R"({"model":"m","prompt":"a","prompt_embeds":null})").media);
}

// llama-server reads the media and no tensor: a tensor beside them must not hide them.
TEST(PromptFields, ATensorStandsBesideTheMediaOfAPrompt) {
  const RequestFacts facts =
      FactsOf(Endpoint::kCompletions,
              R"({"model":"m","prompt":{"prompt_string":"a","multimodal_data":["QUFB"]},"prompt_embeds":"AAAAAAAA"})");
  ASSERT_TRUE(facts.media);
  EXPECT_EQ(facts.media->embedded, 6);
  EXPECT_EQ(facts.media->opaque, 1);
}

TEST(PromptFields, FaultsOfTensorsAreNamed) {
  for (const char* body :
       {R"({"model":"m","prompt":"a","prompt_embeds":7})", R"({"model":"m","prompt_embeds":["AAAA",[1]]})"}) {
    EXPECT_EQ(FaultOf(Endpoint::kCompletions, body).param, "prompt_embeds") << body;
  }
  std::string many = R"({"model":"m","prompt_embeds":[""])";
  many.pop_back();
  for (int i = 0; i < kMaxPrompts; ++i) many += ",\"\"";
  EXPECT_EQ(FaultOf(Endpoint::kCompletions, many + "]}").code, "array_above_max_length");
  EXPECT_EQ(FaultOf(Endpoint::kCompletions, R"({"model":"m","prompt_embeds":[]})").param, "prompt");
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
  EXPECT_EQ(FactsOf(Endpoint::kScore, R"({"model":"m","text_1":"a","text_2":{"content":[]}})").text.latin, 1);
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

constexpr absl::string_view kPixel =
    "data:image/"
    "png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

TEST(PromptFields, AnEmbeddingTakesMessagesTextsAndPictures) {
  const RequestFacts chat =
      FactsOf(Endpoint::kEmbeddings, R"({"model":"m","messages":[{"role":"user","content":"four"}]})");
  EXPECT_EQ(chat.text.latin, 4);
  EXPECT_EQ(chat.prompts, 1);
  const RequestFacts parts =
      FactsOf(Endpoint::kEmbeddings,
              absl::StrCat(R"({"model":"m","input":[{"text":"four"},{"image":")", kPixel,
                           R"("},{"text":"fives","image":"https://example.invalid/a.png","video":null}]})"));
  EXPECT_EQ(parts.prompts, 3);
  EXPECT_EQ(parts.text.latin, 9);
  EXPECT_EQ(parts.LargestPrompt().latin, 5);
  EXPECT_EQ(parts.media->pictures, 1);
  EXPECT_EQ(parts.media->unsized, 1);
  EXPECT_EQ(parts.media->opaque, 0);
}

TEST(PromptFields, ARankingTakesPartsAsItsQueryAndItsDocuments) {
  const std::string part = R"({"type":"text","text":"four"})",
                    picture = absl::StrCat(R"({"type":"image_url","image_url":{"url":")", kPixel, R"("}})");
  const auto rank = [](const std::string& query, const std::string& name, const std::string& documents) {
    return FactsOf(Endpoint::kRerank,
                   absl::StrCat(R"({"model":"m","query":)", query, ",\"", name, "\":", documents, "}"));
  };
  const auto content = [](const std::string& parts) { return R"({"content":[)" + parts + "]}"; };
  const std::string both = part + "," + picture;
  for (const auto& [query, documents] :
       {std::pair(content(both), "[" + content(both) + "," + content(part) + "]"),
        std::pair("[" + both + "]", "[[" + both + "],[" + part + "]]"), std::pair(content(both), content(both))}) {
    const RequestFacts facts = rank(query, "documents", documents);
    EXPECT_EQ(facts.prompts, 2) << documents;
    EXPECT_GE(facts.text.latin, 3 * 4) << documents;
    EXPECT_LT(facts.text.latin, 100) << "a picture is no text: " << documents;
    ASSERT_TRUE(facts.media) << documents;
    EXPECT_EQ(facts.media->pictures, 3) << "the query's is read beside each document";
  }
  EXPECT_EQ(rank("\"four\"", "texts", R"(["aa","bbb"])").text.latin, 2 * 4 + 5);
  EXPECT_EQ(FaultOf(Endpoint::kRerank, R"({"model":"m","query":"q","documents":["a"],"texts":["b"]})").param, "texts");
  EXPECT_EQ(FaultOf(Endpoint::kRerank, R"({"model":"m","query":5,"documents":["a"]})").param, "query");
  EXPECT_EQ(FaultOf(Endpoint::kRerank, R"({"model":"m","query":"q","documents":[5]})").param, "documents");
}

// Text must not hide from the forecast under a name that the router does not know, or below a part.
TEST(PromptFields, EveryTextOfAnElementIsCounted) {
  const std::string words(500, 'w');
  const auto latin = [&](const std::string& document) {
    return FactsOf(Endpoint::kRerank, R"({"model":"m","query":"q","documents":)" + document + "}").text.latin;
  };
  const std::string quoted = "\"" + words + "\"";
  for (const std::string& value :
       {quoted, "[" + quoted + "]", "{\"a\":" + quoted + "}", "[{\"b\":[" + quoted + "]}]", "[[[" + quoted + "]]]",
        "[{\"content\":[{\"content\":[{\"content\":[" + quoted + "]}]}]}]"}) {
    for (const std::string name : {"text", "content", "title", "type", "\\u0061"}) {
      const std::string object = "{\"" + name + "\":" + value + "}";
      for (const std::string& documents : {"[" + object + "]", "[[" + object + "]]", object}) {
        EXPECT_GE(latin(documents), 500) << documents.substr(0, 60);
      }
    }
  }
  EXPECT_GE(latin("[{" + quoted + ":1}]"), 500);
  EXPECT_GE(latin("[{\"\\u0061" + words + "\":1}]"), 500);
}

TEST(PromptFields, TokenIdsAndTextsMayStandInOnePrompt) {
  const auto scan = [](const std::string& prompt) {
    return FactsOf(Endpoint::kCompletions, absl::StrCat("{\"model\":\"m\",\"prompt\":", prompt, "}"));
  };
  const RequestFacts mixed = scan(R"(["four",1,2,"five"])");
  EXPECT_EQ(mixed.prompts, 1);
  EXPECT_FALSE(mixed.prompt_is_text);
  EXPECT_EQ(mixed.text.exact_tokens, 2);
  EXPECT_EQ(mixed.text.latin, 8);
  EXPECT_EQ(mixed.LargestPrompt(), mixed.text);
  const RequestFacts lists = scan(R"([[1,"four",2],"a",[3]])");
  EXPECT_EQ(lists.prompts, 3);
  EXPECT_EQ(lists.text.exact_tokens, 3);
  EXPECT_EQ(lists.text.latin, 5);
  EXPECT_EQ(lists.LargestPrompt().exact_tokens, 2);
  EXPECT_EQ(lists.LargestPrompt().latin, 4);
  const RequestFacts object = scan(R"({"prompt_string":"four","multimodal_data":["AAAA"]})");
  EXPECT_EQ(object.text.latin, 4);
  EXPECT_EQ(object.media->opaque, 1);
  EXPECT_FALSE(object.Continuable(Endpoint::kCompletions));
  for (const char* prompt : {"[{}]", "[[]]", "[[1,[2]]]", "[1,null]", "[\"a\",true]"}) {
    EXPECT_EQ(FaultOf(Endpoint::kCompletions, absl::StrCat("{\"model\":\"m\",\"prompt\":", prompt, "}")).param,
              "prompt");
  }
}

TEST(PromptFields, DataForAPluginIsOpaque) {
  for (const char* data : {"\"AAAA\"", R"({"url":"https://example.invalid"})", "[1,2]", "7"}) {
    const RequestFacts facts = FactsOf(Endpoint::kPooling, absl::StrCat(R"({"model":"m","data":)", data, "}"));
    EXPECT_EQ(facts.media->opaque, 1) << data;
    EXPECT_EQ(facts.text, TextCounts()) << data;
  }
  EXPECT_EQ(FaultOf(Endpoint::kPooling, R"({"model":"m","data":null})").param, "input");
  EXPECT_EQ(FaultOf(Endpoint::kPooling, R"({"model":"m","input":"a","data":"b"})").param, "data");
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
