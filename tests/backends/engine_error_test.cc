#include "backends/dialect/engine_error.h"

#include <gtest/gtest.h>

#include "tests/backends/recording.h"

namespace penstock {
namespace {

TEST(ParseEngineError, NestedErrorWithANumericCode) {
  const EngineError error = ParseEngineError(400, RecordedBody("err-prompt-too-long-stream"));
  EXPECT_EQ(error.status, 400);
  EXPECT_EQ(error.type, "exceed_context_size_error");
  EXPECT_EQ(error.code, "");
  EXPECT_EQ(error.message.substr(0, 21), "request (2102 tokens)");
}

TEST(ParseEngineError, RecordedErrorsKeepTheirStatusAndType) {
  const EngineError json = ParseEngineError(500, RecordedBody("err-bad-json"));
  EXPECT_EQ(json.status, 500);
  EXPECT_EQ(json.type, "server_error");
  EXPECT_EQ(ParseEngineError(404, RecordedBody("err-unknown-route")).message, "File Not Found");
  EXPECT_EQ(ParseEngineError(401, RecordedBody("apikey-wrong")).type, "authentication_error");
  EXPECT_EQ(ParseEngineError(503, RecordedBody("loading-get-props")).message, "Loading model");
}

TEST(ParseEngineError, NestedErrorWithAWordAsCodeAndAParameter) {
  const EngineError error = ParseEngineError(
      404, R"({"error":{"message":"no such model","type":"NotFoundError","param":"model","code":"model_not_found"}})");
  EXPECT_EQ(error.status, 404);
  EXPECT_EQ(error.code, "model_not_found");
  EXPECT_EQ(error.param, "model");
}

TEST(ParseEngineError, FlatErrorOfSglang) {
  const EngineError error = ParseEngineError(
      400, R"({"object":"error","message":"too long","type":"BadRequestError","param":null,"code":400})");
  EXPECT_EQ(error.message, "too long");
  EXPECT_EQ(error.type, "BadRequestError");
  EXPECT_EQ(error.status, 400);
}

TEST(ParseEngineError, ErrorAndErrorTypeOfTgi) {
  const EngineError refused = ParseEngineError(429, R"({"error":"Model is overloaded","error_type":"overloaded"})");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.type, "overloaded");
  EXPECT_EQ(ParseEngineError(200, R"({"error":"bad","error_type":"validation"})").status, 422);
  EXPECT_EQ(ParseEngineError(200, R"({"error":"bad","error_type":"generation"})").status, 500);
}

TEST(ParseEngineError, ErrorAsAString) {
  EXPECT_EQ(ParseEngineError(401, R"({"error":"Unauthorized"})").message, "Unauthorized");
}

TEST(ParseEngineError, DetailOfPythonFrameworks) {
  EXPECT_EQ(ParseEngineError(404, R"({"detail":"Not Found"})").message, "Not Found");
  EXPECT_EQ(ParseEngineError(422, R"({"detail":[{"msg":"x"}]})").message, R"([{"msg":"x"}])");
}

TEST(ParseEngineError, PlainTextAndNothing) {
  const EngineError error = ParseEngineError(502, "  bad gateway\n");
  EXPECT_EQ(error.message, "bad gateway");
  EXPECT_TRUE(error.unknown_shape);
  EXPECT_EQ(error.status, 502);
  EXPECT_EQ(ParseEngineError(500, "").message, "");
  EXPECT_LE(ParseEngineError(500, std::string(100'000, 'x')).message.size(), 2000u);
}

TEST(ParseEngineError, OnlyAMessageThatAnEngineWroteAsOneHasAKnownShape) {
  for (const char* known :
       {R"({"error":{"message":"x"}})", R"({"error":"x"})", R"({"message":"x"})", R"({"detail":"x"})", R"("x")"}) {
    EXPECT_FALSE(ParseEngineError(500, known).unknown_shape) << known;
  }
  for (const char* unknown : {"<html>10.0.0.7</html>", R"({"upstream":"10.0.0.7"})", R"(["10.0.0.7"])", "{"}) {
    EXPECT_TRUE(ParseEngineError(500, unknown).unknown_shape) << unknown;
  }
}

TEST(ParseEngineError, AnErrorInsideASuccessIsAtLeast500UnlessTheBodyTells) {
  EXPECT_EQ(ParseEngineError(200, R"({"error":{"message":"x"}})").status, 500);
  EXPECT_EQ(ParseEngineError(200, R"({"error":{"message":"x","code":400}})").status, 400);
  EXPECT_EQ(ParseEngineError(200, R"({"error":{"message":"x","code":"429"}})").status, 429);
  EXPECT_EQ(ParseEngineError(200, R"({"error":{"message":"x","code":12}})").status, 500);
}

TEST(ParseEngineError, HugeNumbersAndWrongTypesDoNoHarm) {
  EXPECT_EQ(ParseEngineError(500, R"({"error":{"message":5,"code":99999999999999999999}})").status, 500);
  EXPECT_EQ(ParseEngineError(500, R"({"error":[1,2]})").status, 500);
  EXPECT_EQ(ParseEngineError(500, R"("just text")").message, "just text");
}

TEST(ParseEngineError, ADeepBodyHasNoKnownShape) {
  const std::string deep = R"({"error":)" + std::string(500'000, '[') + std::string(500'000, ']') + "}";
  const EngineError error = ParseEngineError(400, deep);
  EXPECT_TRUE(error.unknown_shape);
  EXPECT_EQ(error.message.size(), 2000u);
}

TEST(ParseEngineError, ALongMessageIsCutBetweenCharacters) {
  std::string message;
  for (int i = 0; i < 100'000; ++i) message += "\u20ac";
  const EngineError error = ParseEngineError(400, R"({"error":{"message":")" + message + R"("}})");
  EXPECT_EQ(error.message, message.substr(0, error.message.size()));
  EXPECT_EQ(error.message.size(), (16u << 10) / 3 * 3);
  EXPECT_EQ(ParseEngineError(502, message).message, message.substr(0, 1998));
}

TEST(ParseEngineError, BytesThatAreNotUtf8HaveNoKnownShape) {
  EXPECT_TRUE(ParseEngineError(500, "{\"message\":\"\xff\"}").unknown_shape);
}

TEST(ErrorInAnswer, AnAnswerOfNoKnownShapeIsNotQuoted) {
  for (const char* answer : {R"({"choices":[{"delta":{"content":"SECRET"}}]})", R"({"error":["SECRET"]})", "SECRET"}) {
    EXPECT_TRUE(ErrorInAnswer(answer).unknown_shape) << answer;
    EXPECT_EQ(ErrorInAnswer(answer).message, "") << answer;
    EXPECT_EQ(ParseEngineError(200, answer).message, "") << answer;
    EXPECT_EQ(ParseEngineError(500, answer).message, answer);
  }
}

TEST(ErrorInAnswer, ItsOwnStatusCountsAndElseItIsABadGateway) {
  EXPECT_EQ(ErrorInAnswer(R"({"error":{"message":"boom","code":429}})").status, 429);
  EXPECT_EQ(ErrorInAnswer(R"({"error":"full","error_type":"overloaded"})").status, 429);
  for (const char* body : {R"({"error":{"message":"boom"}})", R"({"error":{"message":"boom","code":200}})",
                           R"({"error":{"message":"boom","code":"bad_thing"}})"}) {
    const EngineError error = ErrorInAnswer(body);
    EXPECT_EQ(error.status, 502) << body;
    EXPECT_EQ(error.message, "boom");
    EXPECT_TRUE(error.in_answer);
    EXPECT_FALSE(error.unknown_shape);
  }
  EXPECT_TRUE(ErrorInAnswer(R"({"error":[1]})").unknown_shape);
  EXPECT_FALSE(ParseEngineError(500, "boom").in_answer);
}

}  // namespace
}  // namespace penstock
