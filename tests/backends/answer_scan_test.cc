// A whole answer that is read piece by piece means the same wherever it is cut.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <random>
#include <string>
#include <vector>

#include "backends/dialect/answer_reader.h"
#include "backends/dialect/json_scanner.h"
#include "tests/backends/recording.h"

namespace penstock {
namespace {

AnswerFacts InPieces(Endpoint endpoint, absl::string_view body, size_t piece) {
  AnswerScan scan(endpoint);
  for (; !body.empty(); body.remove_prefix(std::min(piece, body.size()))) scan.Feed(body.substr(0, piece));
  return scan.Finish();
}

void ExpectSame(const AnswerFacts& a, const AnswerFacts& b) {
  EXPECT_EQ(a.usage, b.usage);
  EXPECT_EQ(a.finish_reason, b.finish_reason);
  EXPECT_EQ(a.error, b.error);
  EXPECT_EQ(a.malformed, b.malformed);
  EXPECT_EQ(a.choices, b.choices);
}

const std::vector<std::pair<Endpoint, std::string>>& Bodies() {
  static const std::vector<std::pair<Endpoint, std::string>> bodies = {
      {Endpoint::kChat, RecordedBody("chat-nonstream")},
      {Endpoint::kResponses, RecordedBody("responses-nonstream")},
      {Endpoint::kEmbeddings, RecordedBody("embeddings-one").substr(0, 4000)},
      {Endpoint::kChat,
       "{\"choices\" : [ {\"x\":[1,{\"finish_reason\":\"no\"}],\"finish_reason\": \"st\\u006fp\"},"
       "{\"finish_reason\":\"length\"}, 7, []], \"t\":\"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 \\\" \\\\\","
       "\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":345,\"details\":{\"prompt_tokens\":1}}} "},
  };
  return bodies;
}

TEST(AnswerScan, ACutMayLieAnywhere) {
  for (const auto& [endpoint, body] : Bodies()) {
    const AnswerFacts whole = ReadAnswer(endpoint, body);
    EXPECT_FALSE(whole.malformed);
    EXPECT_TRUE(whole.usage.has_value() || endpoint == Endpoint::kEmbeddings);
    for (const size_t piece : {1, 2, 3, 5, 7, 16, 100}) ExpectSame(InPieces(endpoint, body, piece), whole);
  }
}

// Both readers: whether the answer is malformed.
bool Malformed(Endpoint endpoint, const std::string& body) {
  const AnswerFacts whole = ReadAnswer(endpoint, body);
  for (const size_t piece : {1, 2, 5, 100}) ExpectSame(InPieces(endpoint, body, piece), whole);
  return whole.malformed;
}

TEST(AnswerScan, AListIsAnAnswerWhereAnEngineGivesOne) {
  const std::string list = R"( [{"score":0.9,"usage":{"prompt_tokens":3},"error":{"a":1}},{"index":1}, 7] )";
  for (const Endpoint endpoint : {Endpoint::kRerank, Endpoint::kScore, Endpoint::kPooling, Endpoint::kClassify,
                                  Endpoint::kTokenize, Endpoint::kDetokenize}) {
    EXPECT_FALSE(Malformed(endpoint, list));
    ExpectSame(ReadAnswer(endpoint, list), AnswerFacts());
    EXPECT_FALSE(Malformed(endpoint, "[]"));
    for (const char* bad : {"[1", "[1 {}", "[1,]", "[1}", "[] []", "[]{}", "\"x\" 7", "7", "[\"\xFF\"]", "]", ""}) {
      EXPECT_TRUE(Malformed(endpoint, bad)) << bad;
    }
  }
  for (const Endpoint endpoint : {Endpoint::kChat, Endpoint::kCompletions, Endpoint::kEmbeddings, Endpoint::kResponses,
                                  Endpoint::kMessages, Endpoint::kModerations}) {
    EXPECT_TRUE(Malformed(endpoint, list));
  }
}

TEST(AnswerScan, ABareStringIsAnAnswerWhereAnEngineGivesTheText) {
  for (const std::string text : {R"( "the \"river\" \u00e9 runs" )", R"("")"}) {
    EXPECT_FALSE(Malformed(Endpoint::kDetokenize, text)) << text;
    ExpectSame(ReadAnswer(Endpoint::kDetokenize, text), AnswerFacts());
    for (const Endpoint endpoint : {Endpoint::kTokenize, Endpoint::kRerank, Endpoint::kClassify, Endpoint::kChat}) {
      EXPECT_TRUE(Malformed(endpoint, text)) << text;
    }
  }
  for (const char* bad : {"\"x", "\"x\" \"y\"", "\"x\",", "\"x\\", "\"\xFF\"", "null", "true", "x", "\"x\"}"}) {
    EXPECT_TRUE(Malformed(Endpoint::kDetokenize, bad)) << bad;
  }
}

TEST(AnswerScan, AnErrorIsOneWhateverItsStatusAndAnEmptyOneIsNone) {
  const std::string good = R"("choices":[{"finish_reason":"stop"}])";
  const auto expect = [](Endpoint endpoint, const std::string& body, bool error) {
    EXPECT_EQ(ReadAnswer(endpoint, body).error, error) << body.substr(0, 100);
    for (const size_t piece : {1, 2, 7, 100, 70'000})
      ExpectSame(InPieces(endpoint, body, piece), ReadAnswer(endpoint, body));
  };
  for (const std::string error : {R"({"message":"boom","code":500})", R"({ "error":null })", R"("overloaded")", "[1]",
                                  "true", "17", R"({"error":{"error":{}}})"}) {
    expect(Endpoint::kChat, "{\"error\" : " + error + "}", true);
    expect(Endpoint::kChat, "{" + good + ",\"error\":" + error + " }", true);
  }
  for (const std::string none : {"null", "{}", "{ }", "[ ]", "\"\"", "false", "0"}) {
    expect(Endpoint::kChat, "{\"error\": " + none + "," + good + "}", false);
  }
  expect(Endpoint::kChat, R"({"error":{"message":")" + std::string(200'000, 'x') + "\"}}", true);
  expect(Endpoint::kChat, R"({"object":"error","message":"no","code":400})", true);
  expect(Endpoint::kChat, R"({"choices":[{"error":{"message":"x"}}],"x":{"error":{"message":"x"},"object":"error"}})",
         false);
  expect(Endpoint::kResponses, R"({"object":"response","status":"failed","error":null})", true);
  expect(Endpoint::kResponses, R"({"object":"response","status":"completed","error":null})", false);
}

TEST(AnswerScan, OnlyTheFieldsOfTheAnswerItselfCount) {
  const AnswerFacts facts = ReadAnswer(Endpoint::kChat, Bodies()[3].second);
  EXPECT_EQ(facts.finish_reason, "length");
  EXPECT_EQ(facts.usage, (Usage{Tokens(12), Tokens(345)}));
  const std::string inner = R"({"a":{"usage":{"prompt_tokens":5},"choices":[{"finish_reason":"stop"}]},"choices":{)"
                            R"("finish_reason":"stop"},"finish_reason":"stop","status":"completed"})";
  ExpectSame(ReadAnswer(Endpoint::kChat, inner), AnswerFacts());
  EXPECT_EQ(ReadAnswer(Endpoint::kResponses, inner).finish_reason, "stop");
}

// Another reader of the same grammar decides for damaged answers.
TEST(AnswerScan, ADamagedAnswerIsRefusedAsTheOtherScannerRefusesIt) {
  constexpr uint32_t kSeed = 7;
  std::mt19937 random(kSeed);
  const std::string bytes = "{}[]\",:\\ntf0-1.e \x01\x80\xC3\xF0";
  int good = 0;
  int bad = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string body = Bodies()[i % 2 == 0 ? 3 : 0].second;
    for (uint32_t changes = random() % 3; changes > 0; --changes) {
      const size_t at = random() % body.size();
      if (random() % 2 == 0) {
        body[at] = bytes[random() % bytes.size()];
      } else {
        body.erase(at, 1 + random() % 3);
      }
    }
    JsonScanner scanner(body);
    const bool json = scanner.WholeObject([&](absl::string_view) { return scanner.Skip(); });
    const bool fine = json && simdjson::validate_utf8(body.data(), body.size());
    const AnswerFacts facts = InPieces(Endpoint::kChat, body, 1 + random() % 9);
    // A reason with a broken escape is refused too.
    const bool may_be_refused = body.find("finish_reason") != std::string::npos;
    EXPECT_TRUE(facts.malformed == !fine || (fine && may_be_refused)) << body;
    EXPECT_EQ(facts.malformed, ReadAnswer(Endpoint::kChat, body).malformed) << body;
    ++(facts.malformed ? bad : good);
  }
  EXPECT_GT(good, 1'000);
  EXPECT_GT(bad, 1'000);
}

TEST(AnswerScan, ALongAnswerIsMalformedAtItsFirstFault) {
  AnswerScan scan(Endpoint::kChat);
  EXPECT_TRUE(scan.Feed(R"({"a":[1,2,)"));
  EXPECT_FALSE(scan.Feed("}"));
  EXPECT_FALSE(scan.Feed("3]}"));
  EXPECT_TRUE(scan.Finish().malformed);
  for (const int depth : {JsonScanner::kMaxDepth - 1, JsonScanner::kMaxDepth}) {
    const std::string body = "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
    EXPECT_EQ(ReadAnswer(Endpoint::kChat, body).malformed, depth == JsonScanner::kMaxDepth);
  }
}

TEST(AnswerScan, AnEndlessValueTakesNoMemoryAndHidesNothing) {
  AnswerScan scan(Endpoint::kChat);
  EXPECT_TRUE(scan.Feed(R"({"usage":{"x":")"));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(scan.Feed(std::string(10'000, 'x')));
  EXPECT_TRUE(scan.Feed(R"("},"usage":{"prompt_tokens":3}})"));
  EXPECT_EQ(scan.Finish().usage->prompt, Tokens(3));
}

}  // namespace
}  // namespace penstock
