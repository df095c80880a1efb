#include "router/openai/request/request_scan.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "backends/engines/catalogue/engine_catalogue.h"

namespace penstock {
namespace {
RequestFacts Scan(Endpoint endpoint, const std::string& body) {
  auto result = ScanRequest(endpoint, body, AllOutputLimits());
  if (const ApiError* error = std::get_if<ApiError>(&result)) ADD_FAILURE() << error->message;
  return std::holds_alternative<RequestFacts>(result) ? std::get<RequestFacts>(result) : RequestFacts();
}

ApiError ScanError(Endpoint endpoint, const std::string& body) {
  auto result = ScanRequest(endpoint, body, AllOutputLimits());
  if (const ApiError* error = std::get_if<ApiError>(&result)) return *error;
  ADD_FAILURE() << "accepted: " << body.substr(0, 200);
  return ApiError();
}

std::string Chat(const std::string& more) {
  return absl::StrCat(R"({"model":"m","messages":[{"role":"user","content":"Hello there"}])", more, "}");
}

std::string Cut(const std::string& body, const std::optional<JsonSpan>& span) {
  return span ? body.substr(span->begin, span->size()) : "";
}

TEST(RequestScan, ReadsWhatTheRouterNeeds) {
  const std::string body = Chat(
      R"(, "stream" : true, "stream_options":{"include_usage":true}, "max_tokens":12,"n":3,"service_tier":"flex")");
  const RequestFacts facts = Scan(Endpoint::kChat, body);
  EXPECT_EQ(facts.model, "m");
  EXPECT_TRUE(facts.stream);
  EXPECT_TRUE(facts.asks_usage);
  ASSERT_EQ(facts.limits.size(), 1u);
  EXPECT_EQ(facts.limits[0].field, "max_tokens");
  EXPECT_EQ(facts.limits[0].value, 12);
  EXPECT_EQ(facts.n, 3);
  EXPECT_EQ(facts.service_tier, "flex");
  EXPECT_EQ(facts.text.messages, 1);
  EXPECT_GT(facts.text.latin, 8);
  EXPECT_EQ(Cut(body, facts.model_at), "\"m\"");
  EXPECT_EQ(Cut(body, facts.stream_at), "true");
  EXPECT_EQ(Cut(body, facts.include_usage_at), "true");
  EXPECT_EQ(Cut(body, facts.limits[0].at), "12");
}

TEST(RequestScan, ATextThatStandsBesideEachPromptIsCountedWithEach) {
  const RequestFacts rerank =
      Scan(Endpoint::kRerank, R"({"documents":["aa",{"b":1},"c"],"model":"m","query":"four five"})");
  EXPECT_EQ(rerank.prompts, 3);
  EXPECT_EQ(rerank.text.latin, 3 * 8 + 2 + 1 + 1);
  EXPECT_EQ(rerank.text.words, 3 * 2 + 3);
  EXPECT_EQ(rerank.LargestPrompt().latin, 9);
  const RequestFacts responses = Scan(Endpoint::kResponses, R"({"model":"m","input":"hi","instructions":"be short"})");
  EXPECT_EQ(responses.text.latin, 9);
  EXPECT_EQ(responses.LargestPrompt(), responses.text);
}

TEST(RequestScan, NamesAndNumbersOfAnyLengthCostNothing) {
  EXPECT_EQ(ScanError(Endpoint::kChat, R"({"messages":[],"model":")" + std::string(2000, 'm') + "\"}").param, "model");
  EXPECT_EQ(ScanError(Endpoint::kChat, Chat(",\"service_tier\":\"" + std::string(2000, 't') + "\"")).param,
            "service_tier");
  EXPECT_EQ(Scan(Endpoint::kChat, Chat(",\"x\":0." + std::string(1000, '0') + "1")).model, "m");
  EXPECT_EQ(ScanError(Endpoint::kChat, Chat(",\"x\":0." + std::string(2000, '0') + "1")).code, "invalid_json");
  EXPECT_EQ(ScanError(Endpoint::kChat, Chat(",\"x\":1" + std::string(400, '0'))).code, "invalid_json");
  EXPECT_EQ(Scan(Endpoint::kChat, Chat(",\"x\":1" + std::string(250, '0'))).model, "m");
  EXPECT_EQ(Scan(Endpoint::kChat, Chat(",\"" + std::string(2000, 'k') + "\\u0061\":1")).model, "m");
}

TEST(RequestScan, MalformedBodiesAreRefused) {
  for (const std::string body :
       {"", "{", "{\"model\":\"m\",}", "[]", "null", "\"x\"", "{\"model\":\"m\"} x", "{'model':1}"}) {
    const ApiError error = ScanError(Endpoint::kChat, body);
    EXPECT_EQ(error.status, 400) << body;
    EXPECT_EQ(error.code, "invalid_json") << body;
    EXPECT_EQ(error.bad_input, BadInput::kMalformedJson) << body;
  }
}

TEST(RequestScan, TheGrammarIsJsonsToTheLetter) {
  for (const std::string value :
       {"01",          "1.",         "-",           "1e",    "+1",          ".5",
        "1e+",         "0x1",        "tru",         "true1", "nul",         "NaN",
        "1 2",         R"("\x")",    R"("\u12g4")", "1e999", R"("\ud83d")", R"("\ud83d\u0041")",
        R"("\udc00")", "\"a\tb\"",   "[1,]",        "[,1]",  "[1 2]",       "{1:2}",
        "{\"a\" 1}",   "{\"a\":1,}", "[1}",         "]"}) {
    EXPECT_EQ(ScanError(Endpoint::kChat, Chat(",\"x\":" + value)).code, "invalid_json") << value;
  }
  for (const std::string value : {"0", "-0", "1e5", "1E+05", "-1.25e-3", "1e300", R"("\u12aB\/\b\f\n\r\t\\\"")",
                                  R"("\ud83d\ude00")", "\"\x7f\"", "[ ]", "{ }", "[[],{}]", "null"}) {
    EXPECT_EQ(Scan(Endpoint::kChat, Chat(",\"x\":" + value)).model, "m") << value;
  }
}

// Broken at random places, a body is JSON to us exactly when it is to a parser that builds a document.
TEST(RequestScan, AgreesWithAParserOnWhatIsJson) {
  const std::string whole = Chat(
      R"(,"x":[1,-2.5e+3,0,true,null,{"a":{},"b":[]}],"y":"text \u00e9\ud83d\ude00 \"q\" \\ end, and some more","z":false)");
  const std::string alphabet = "{}[]\",:\\ue0d19.+-tn x\x01\xc3\xa9";
  std::mt19937_64 random(7);
  int accepted = 0;
  for (int round = 0; round < 30'000; ++round) {
    std::string body = whole;
    for (uint64_t edits = 1 + random() % 3; edits > 0; --edits) {
      const size_t at = random() % body.size();
      const char c = alphabet[random() % alphabet.size()];
      if (random() % 3 == 0) {
        body.erase(at, 1 + random() % 4);
      } else if (random() % 2 == 0) {
        body.insert(at, 1, c);
      } else {
        body[at] = c;
      }
    }
    const auto parsed = nlohmann::json::parse(body, nullptr, false);
    const auto scanned = ScanRequest(Endpoint::kChat, body, AllOutputLimits());
    const ApiError* error = std::get_if<ApiError>(&scanned);
    const bool json = error == nullptr || error->code != "invalid_json";
    ASSERT_EQ(json, parsed.is_object()) << body;
    accepted += json ? 1 : 0;
  }
  EXPECT_GT(accepted, 3'000);
  EXPECT_LT(accepted, 27'000);
}

TEST(RequestScan, InvalidUtf8IsRefused) {
  EXPECT_EQ(ScanError(Endpoint::kChat, "{\"model\":\"\xff\xfe\"}").code, "invalid_json");
}

TEST(RequestScan, NestingIsBounded) {
  const std::string deep = Chat(absl::StrCat(",\"x\":", std::string(500, '['), std::string(500, ']')));
  const ApiError error = ScanError(Endpoint::kChat, deep);
  EXPECT_NE(error.message.find("128"), std::string::npos) << error.message;
}

TEST(RequestScan, NestingUpToTheBoundPassesAfterADeeperBodyWasRefused) {
  const auto nested = [](int levels) {
    return Chat(absl::StrCat(",\"x\":", std::string(levels, '['), std::string(levels, ']')));
  };
  ScanError(Endpoint::kChat, nested(400));
  EXPECT_EQ(Scan(Endpoint::kChat, nested(100)).model, "m");
}

TEST(RequestScan, ADuplicateOfAFieldThatIsReadIsRefused) {
  for (const std::string more : {R"(,"model":"x")", R"(,"messages":[])", R"(,"max_tokens":1,"max_tokens":2)",
                                 R"(,"stream":true,"stream":false)", R"(,"n":1,"n":1)", R"(,"n":null,"n":1)"}) {
    const ApiError error = ScanError(Endpoint::kChat, Chat(more));
    EXPECT_EQ(error.code, "duplicate_key") << more;
    EXPECT_EQ(error.bad_input, BadInput::kDuplicateKey) << more;
  }
}

TEST(RequestScan, ADuplicateHiddenByAnEscapeIsFound) {
  EXPECT_EQ(ScanError(Endpoint::kChat, Chat(R"(,"mod\u0065l":"x")")).code, "duplicate_key");
}

TEST(RequestScan, ADuplicateOfAnUnknownFieldIsNotTheRoutersBusiness) {
  EXPECT_EQ(Scan(Endpoint::kChat, Chat(R"(,"top_p":1,"top_p":2)")).model, "m");
}

TEST(RequestScan, ADuplicateWithinAMessageIsRefused) {
  const std::string body = R"({"model":"m","messages":[{"role":"user","content":)";
  for (const char* content : {R"("a","content":"b")", R"([{"text":"a","text":"b"}])"})
    EXPECT_EQ(ScanError(Endpoint::kChat, absl::StrCat(body, content, "}]}")).code, "duplicate_key");
}

TEST(RequestScan, MissingFieldsAreNamed) {
  EXPECT_EQ(ScanError(Endpoint::kChat, R"({"messages":[{"role":"user","content":"x"}]})").param, "model");
  EXPECT_EQ(ScanError(Endpoint::kChat, R"({"model":"m"})").param, "messages");
  EXPECT_EQ(ScanError(Endpoint::kChat, R"({"model":"m","messages":null})").param, "messages");
  EXPECT_EQ(ScanError(Endpoint::kCompletions, R"({"model":"m"})").param, "prompt");
  EXPECT_EQ(ScanError(Endpoint::kEmbeddings, R"({"model":"m"})").param, "input");
  EXPECT_EQ(ScanError(Endpoint::kRerank, R"({"model":"m","query":"x"})").param, "documents");
  EXPECT_EQ(ScanError(Endpoint::kChat, R"({"model":"m","messages":[{"content":"x"}]})").param, "messages[0].role");
}

TEST(RequestScan, WrongTypesAreNamed) {
  const auto param = [](const std::string& body) {
    const ApiError error = ScanError(Endpoint::kChat, body);
    EXPECT_EQ(error.bad_input, BadInput::kWrongType) << body;
    return error.param;
  };
  EXPECT_EQ(param(R"({"model":1,"messages":[]})"), "model");
  EXPECT_EQ(param(R"({"model":"m","messages":"hello"})"), "messages");
  EXPECT_EQ(param(R"({"model":"m","messages":[1]})"), "messages[0]");
  EXPECT_EQ(param(R"({"model":"m","messages":[{"role":"user","content":5}]})"), "messages[0].content");
  EXPECT_EQ(param(R"({"model":"m","messages":[{"role":"user","content":[5]}]})"), "messages[0].content");
  EXPECT_EQ(param(Chat(R"(,"stream":"true")")), "stream");
  EXPECT_EQ(param(Chat(R"(,"max_tokens":"5")")), "max_tokens");
  EXPECT_EQ(param(Chat(R"(,"max_tokens":2.5)")), "max_tokens");
  EXPECT_EQ(param(Chat(R"(,"n":"2")")), "n");
  EXPECT_EQ(param(Chat(R"(,"service_tier":1)")), "service_tier");
  EXPECT_EQ(param(Chat(R"(,"tools":{})")), "tools");
  EXPECT_EQ(param(Chat(R"(,"stream":true,"stream_options":[])")), "stream_options");
  EXPECT_EQ(param(Chat(R"(,"stream":true,"stream_options":{"include_usage":1})")), "stream_options.include_usage");
}

TEST(RequestScan, AnEmptyConversationIsRefused) {
  const ApiError error = ScanError(Endpoint::kChat, R"({"model":"m","messages":[]})");
  EXPECT_EQ(error.param, "messages");
  EXPECT_EQ(error.code, "empty_array");
}

TEST(RequestScan, LimitsOutOfRangeAreRefusedWithTheBound) {
  for (const std::string value : {"0", "-2", "4294967296", "99999999999999999999999"}) {
    for (const std::string field : {"max_tokens", "max_completion_tokens"}) {
      const ApiError error = ScanError(Endpoint::kChat, Chat(absl::StrCat(",\"", field, "\":", value)));
      EXPECT_EQ(error.param, field) << value;
      EXPECT_EQ(error.bad_input, BadInput::kOutOfRange) << value;
      EXPECT_NE(error.message.find("2147483648"), std::string::npos) << error.message;
    }
  }
}

TEST(RequestScan, TheLargestLimitPasses) {
  EXPECT_EQ(Scan(Endpoint::kChat, Chat(",\"max_tokens\":2147483648")).limits[0].value, int64_t{1} << 31);
  EXPECT_EQ(ScanError(Endpoint::kChat, Chat(",\"max_tokens\":2147483649")).param, "max_tokens");
}

TEST(RequestScan, AListOfPromptsIsBounded) {
  const auto list = [](int count) {
    std::string body = R"({"model":"m","prompt":["a")";
    for (int i = 1; i < count; ++i) body += ",\"a\"";
    return body + "]}";
  };
  EXPECT_EQ(Scan(Endpoint::kCompletions, list(2048)).prompts, 2048);
  EXPECT_EQ(ScanError(Endpoint::kCompletions, list(2049)).param, "prompt");
}

TEST(RequestScan, NOutOfRangeIsRefused) {
  for (const std::string value : {"0", "-1", "129"}) {
    EXPECT_EQ(ScanError(Endpoint::kChat, Chat(",\"n\":" + value)).param, "n") << value;
  }
  EXPECT_EQ(Scan(Endpoint::kChat, Chat(",\"n\":128")).n, 128);
}

TEST(RequestScan, StreamOptionsNeedAStream) {
  EXPECT_EQ(ScanError(Endpoint::kChat, Chat(R"(,"stream_options":{"include_usage":true})")).param, "stream_options");
}

TEST(RequestScan, NullCountsAsAbsent) {
  const RequestFacts facts = Scan(
      Endpoint::kChat, Chat(R"(,"max_tokens":null,"n":null,"stream":null,"stream_options":null,"service_tier":null)"));
  EXPECT_TRUE(facts.limits.empty());
  EXPECT_EQ(facts.n, 1);
  EXPECT_FALSE(facts.stream);
}

TEST(RequestScan, PartsOfAMessageAreCounted) {
  const std::string body = R"({"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"some words"},)"
                           R"({"type":"image_url","image_url":{"url":"https://example.invalid/a.png"}},)"
                           R"({"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}]}]})";
  const RequestFacts facts = Scan(Endpoint::kChat, body);
  EXPECT_EQ(facts.text.latin, 9);
  EXPECT_EQ(facts.media->unsized, 1);
  EXPECT_GT(facts.media->seconds, 0);
  EXPECT_EQ(facts.media->opaque, 0);
}

TEST(RequestScan, PromptShapesAreTold) {
  const auto scan = [](const std::string& prompt) {
    return Scan(Endpoint::kCompletions, absl::StrCat("{\"model\":\"m\",\"prompt\":", prompt, "}"));
  };
  EXPECT_TRUE(scan("\"text\"").prompt_is_text);
  EXPECT_EQ(scan("[1,2,3]").text.exact_tokens, 3);
  EXPECT_EQ(scan("[1,2,3]").prompts, 1);
  EXPECT_EQ(scan("[[1,2],[3]]").prompts, 2);
  EXPECT_EQ(scan("[[1,2],[3]]").LargestPrompt().exact_tokens, 2);
  EXPECT_EQ(scan("[\"a\",\"bcd\"]").prompts, 2);
  EXPECT_EQ(ScanError(Endpoint::kCompletions, R"({"model":"m","prompt":[]})").param, "prompt");
  EXPECT_EQ(ScanError(Endpoint::kCompletions, R"({"model":"m","prompt":[true]})").param, "prompt");
  EXPECT_EQ(ScanError(Endpoint::kCompletions, R"({"model":"m","prompt":{}})").param, "prompt");
}

TEST(RequestScan, OnlyPlainTextAnswersCanBeContinued) {
  EXPECT_TRUE(Scan(Endpoint::kChat, Chat("")).Continuable(Endpoint::kChat));
  for (const char* more : {R"(,"n":2)", R"(,"tools":[])", R"(,"logprobs":true)", R"(,"response_format":{})"}) {
    EXPECT_FALSE(Scan(Endpoint::kChat, Chat(more)).Continuable(Endpoint::kChat)) << more;
  }
}

TEST(RequestScan, AnswersWithListsOfTokensOrSeveralChoicesAreNotReassembled) {
  for (const char* more : {"", R"(,"logprobs":false)", R"(,"return_token_ids":false)", R"(,"n_probs":0)"}) {
    EXPECT_TRUE(Scan(Endpoint::kChat, Chat(more)).Reassemblable(Endpoint::kChat)) << more;
  }
  for (const char* more : {R"(,"logprobs":true)", R"(,"return_token_ids":true)", R"(,"n_probs":2)", R"(,"n":2)"}) {
    EXPECT_FALSE(Scan(Endpoint::kChat, Chat(more)).Reassemblable(Endpoint::kChat)) << more;
  }
}

}  // namespace
}  // namespace penstock
