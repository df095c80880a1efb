#include "backends/simulated/face/job.h"

#include "gtest/gtest.h"
#include "tests/simulated/engine_fixture.h"

namespace penstock::simulated {
namespace {

std::variant<Job, ApiError> Parse(const std::string& body, Route route = Route::kChat, bool llama = false,
                                  const JobHeaders& headers = {}) {
  const Engine engine(SmallSpec(llama), Instant());
  return ParseJob(route, body, headers, engine, 1);
}

Job Good(const std::string& body, Route route = Route::kChat, bool llama = false, const JobHeaders& headers = {}) {
  auto parsed = Parse(body, route, llama, headers);
  if (const auto* error = std::get_if<ApiError>(&parsed)) {
    ADD_FAILURE() << error->message;
    return {};
  }
  return std::get<Job>(std::move(parsed));
}

ApiError Bad(const std::string& body, Route route = Route::kChat, bool llama = false) {
  auto parsed = Parse(body, route, llama);
  if (std::holds_alternative<Job>(parsed)) {
    ADD_FAILURE() << "no error";
    return {};
  }
  return std::get<ApiError>(std::move(parsed));
}

constexpr char kHello[] = R"("messages":[{"role":"user","content":"Hello there"}])";
std::string ChatText(const std::string& more = "") { return std::string("{") + kHello + more + "}"; }

TEST(SimulatedJob, MaxTokensBoundsTheOutputAndIsItsReason) {
  const Job job = Good(ChatText(R"(,"max_tokens":3)"));
  ASSERT_EQ(job.choices.size(), 1u);
  EXPECT_EQ(job.choices[0].output, Tokens(3));
  EXPECT_EQ(job.choices[0].reason, FinishReason::kLength);
}

TEST(SimulatedJob, TheHeaderSetsTheOutputAndTheAnswerStopsByItself) {
  const Job job = Good(ChatText(R"(,"max_tokens":50)"), Route::kChat, false, {"7", ""});
  EXPECT_EQ(job.choices[0].output, Tokens(7));
  EXPECT_EQ(job.choices[0].reason, FinishReason::kStop);
}

TEST(SimulatedJob, ADocumentEndsWithItsLastTokenAndIsCutByTheLimitOnly) {
  constexpr char kForm[] =
      R"(,"response_format":{"type":"json_schema","json_schema":{"schema":{"enum":["aa bb"]}}},"max_tokens":)";
  const Job whole = Good(ChatText(std::string(kForm) + "4"));
  EXPECT_EQ(whole.choices[0].output, Tokens(4));
  EXPECT_EQ(whole.choices[0].reason, FinishReason::kStop);
  std::string text;
  for (int64_t i = 0; i < 4; ++i) text += whole.choices[0].PieceOf(1, i);
  EXPECT_EQ(text, "\"aa bb\"");
  EXPECT_EQ(Good(ChatText(std::string(kForm) + "3")).choices[0].reason, FinishReason::kLength);
  EXPECT_EQ(Bad(ChatText(R"(,"response_format":{"type":"json_schema"})")).param, "response_format");
}

TEST(SimulatedJob, OnlyANaturalModelCallsAToolOfItsOwnChoice) {
  constexpr char kTools[] = R"(,"tools":[{"type":"function","function":{"name":"open"}}])";
  const auto calls = [&](bool natural, const std::string& more) {
    int count = 0;
    EngineSpec spec = SmallSpec();
    spec.natural = natural;
    for (int i = 0; i < 40; ++i) {
      const std::string body = R"({"messages":[{"role":"user","content":")" + std::to_string(i) + R"("}])" + more + "}";
      const auto job = ParseJob(Route::kChat, body, {}, Engine(spec, Instant()), 1);
      count += std::get<Job>(job).tool ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(calls(false, kTools), 0);
  EXPECT_EQ(calls(true, ""), 0);
  EXPECT_EQ(calls(true, std::string(kTools) + R"(,"tool_choice":"none")"), 0);
  EXPECT_GT(calls(true, kTools), 20);
  EXPECT_LT(calls(true, kTools), 40);
}

TEST(SimulatedJob, AHeaderThatIsNoCountIsAnError) {
  for (const char* header : {"0", "-1", "x", "3x"}) {
    EXPECT_TRUE(std::holds_alternative<ApiError>(Parse(ChatText(), Route::kChat, false, {header, ""}))) << header;
  }
}

TEST(SimulatedJob, EqualRequestsGetEqualAnswersAndChoicesDiffer) {
  const Job first = Good(ChatText(R"(,"n":2,"temperature":1)"));
  const Job second = Good(ChatText(R"(,"n":2,"temperature":1)"));
  ASSERT_EQ(first.choices.size(), 2u);
  EXPECT_EQ(first.choices[0].conversation, second.choices[0].conversation);
  EXPECT_NE(first.choices[0].conversation, first.choices[1].conversation);
}

TEST(SimulatedJob, UnknownModelsAreAnErrorOfVllmOnly) {
  EXPECT_EQ(Bad(ChatText(R"(,"model":"other")")).status, 404);
  EXPECT_EQ(Good(ChatText(R"(,"model":"alias")")).model, "alias");
  EXPECT_EQ(Good(ChatText(R"(,"model":"other")"), Route::kChat, true).model, "base");
}

TEST(SimulatedJob, LlamaServerTakesNPredictAndMinusOneIsNoLimit) {
  EXPECT_EQ(Good(ChatText(R"(,"max_tokens":3,"n_predict":5)"), Route::kChat, true).max_tokens, Tokens(5));
  EXPECT_EQ(Good(ChatText(R"(,"max_tokens":-1)"), Route::kChat, true).max_tokens, std::nullopt);
  EXPECT_EQ(Good(ChatText(R"(,"max_tokens":0)"), Route::kChat, true).max_tokens, Tokens(1));
  EXPECT_EQ(Bad(ChatText(R"(,"max_tokens":0)")).status, 400);
}

TEST(SimulatedJob, APromptBeyondTheContextNamesBothCounts) {
  const std::string prompt = R"({"prompt":")" + std::string(6000, 'a') + R"("})";
  const ApiError vllm = Bad(prompt, Route::kCompletions);
  EXPECT_EQ(vllm.status, 400);
  EXPECT_NE(vllm.message.find("maximum context length is 992"), std::string::npos) << vllm.message;
  const ApiError llama = Bad(prompt, Route::kCompletions, true);
  EXPECT_EQ(llama.type, "exceed_context_size_error");
  EXPECT_TRUE(llama.prompt.has_value());
}

TEST(SimulatedJob, AStopStringEndsTheTextBeforeIt) {
  const Job whole = Good(ChatText(R"(,"max_tokens":40)"));
  const ChoicePlan& plan = whole.choices[0];
  std::string text;
  for (int64_t i = 0; i < 40; ++i) text += PieceAt(SmallSpec().seed, plan.conversation, i);
  const std::string stop = text.substr(text.size() / 2, 8);
  const Job cut = Good(ChatText(R"(,"max_tokens":40,"stop":")" + stop + R"(")"));
  EXPECT_EQ(cut.choices[0].text_bytes, text.find(stop));
  EXPECT_EQ(cut.choices[0].stop, stop);
  EXPECT_EQ(cut.choices[0].reason, FinishReason::kStop);
}

TEST(SimulatedJob, ARequiredToolEndsAsAToolCall) {
  const Job job = Good(
      ChatText(R"(,"max_tokens":5,"tool_choice":"required","tools":[{"type":"function","function":{"name":"look"}}])"));
  EXPECT_EQ(job.tool, "look");
  EXPECT_EQ(job.choices[0].reason, FinishReason::kToolCalls);
  EXPECT_EQ(Bad(ChatText(R"(,"tool_choice":"required")")).status, 400);
}

TEST(SimulatedJob, EmbeddingsHavePromptsAndNoChoices) {
  const Job job = Good(R"({"input":["one","two"],"dimensions":8,"encoding_format":"base64"})", Route::kEmbeddings);
  EXPECT_EQ(job.prompts.size(), 2u);
  EXPECT_TRUE(job.choices.empty());
  EXPECT_EQ(job.dimensions, 8);
  EXPECT_TRUE(job.base64);
}

TEST(SimulatedJob, TheIdOfAVllmAnswerIsTheRequestIdWhereItIsPlain) {
  EXPECT_EQ(Good(ChatText(), Route::kChat, false, {"", "abc"}).id, "chatcmpl-abc");
  EXPECT_NE(Good(ChatText(), Route::kChat, false, {"", "a b"}).id, "chatcmpl-a b");
  EXPECT_NE(Good(ChatText(), Route::kChat, true, {"", "abc"}).id, "chatcmpl-abc");
}

TEST(SimulatedJob, BrokenBodiesHaveTheStatusOfTheirDialect) {
  for (const char* body : {"", "[]", "{", "{\"messages\":3}"}) EXPECT_EQ(Bad(body).status, 400) << body;
  EXPECT_EQ(Bad("{", Route::kChat, true).status, 500);
  EXPECT_EQ(Bad(std::string(500, '[') + std::string(500, ']')).status, 400);
}

}  // namespace
}  // namespace penstock::simulated
