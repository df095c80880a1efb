#include "router/ollama/request_builder.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "router/openai/request/json_walk.h"

namespace penstock::ollama {
namespace {

using Json = nlohmann::json;

struct Built {
  Json body;
  std::string error;
  bool empty = false;
  bool raw = false;
  bool stream = false;
};

Built Build(Call call, const std::string& text, size_t slice = 1 << 20) {
  RequestFields fields(text);
  JsonWalk walk(text);
  JsonWalk::Progress progress = JsonWalk::Progress::kPaused;
  while (progress == JsonWalk::Progress::kPaused) progress = walk.Run(fields, slice);
  EXPECT_EQ(progress, JsonWalk::Progress::kDone) << text;
  RequestBuilder builder(call, fields);
  std::string model;
  std::optional<ApiError> error = builder.ReadModel(&model);
  if (!error) error = builder.Begin(model);
  while (!error && !builder.planned()) {
    const size_t before = builder.size();
    error = builder.Plan();
    EXPECT_LE(builder.size() - before, 4 * RequestBuilder::kSlice) << "a slice is too long";
  }
  Built built;
  if (error) {
    built.error = error->message;
    return built;
  }
  std::string body;
  while (!builder.Advance(body)) continue;
  EXPECT_EQ(body.size(), builder.size());
  built.empty = builder.empty();
  built.raw = builder.raw();
  built.stream = builder.stream();
  if (!built.empty) built.body = Json::parse(body);
  return built;
}

TEST(OllamaRequest, AChatStreamsUnlessItSaysNo) {
  const std::string chat = R"({"model":"m","messages":[{"role":"user","content":"hi \"you\""}])";
  const Built streamed = Build(Call::kChat, chat + "}");
  EXPECT_TRUE(streamed.stream);
  EXPECT_EQ(streamed.body["stream_options"]["include_usage"], true);
  EXPECT_EQ(streamed.body["messages"][0]["content"], "hi \"you\"");
  const Built whole = Build(Call::kChat, chat + ",\"stream\":false}");
  EXPECT_EQ(whole.body["stream"], false);
  EXPECT_FALSE(whole.body.contains("stream_options"));
}

TEST(OllamaRequest, SlicesOfAnySizeGiveTheSameBody) {
  const std::string text =
      R"({"options":{"top_k":3},"messages":[{"images":["iVBOR","/9j/"],"content":"a","role":"user"},{"role":"tool"}],"model":"m"})";
  const Json expected = Build(Call::kChat, text).body;
  for (size_t slice = 1; slice < 30; ++slice) EXPECT_EQ(Build(Call::kChat, text, slice).body, expected);
  EXPECT_EQ(expected["top_k"], 3);
  EXPECT_EQ(expected["messages"][0]["content"].size(), 3u);
}

TEST(OllamaRequest, AGenerationBecomesAChatUnlessItIsRaw) {
  const Built chat = Build(Call::kGenerate, R"({"model":"m","prompt":"p","system":"s"})");
  EXPECT_EQ(chat.body["messages"].size(), 2u);
  EXPECT_EQ(chat.body["messages"][0]["role"], "system");
  const Built raw = Build(Call::kGenerate, R"({"model":"m","prompt":"p","raw":true})");
  EXPECT_TRUE(raw.raw);
  EXPECT_EQ(raw.body["prompt"], "p");
  EXPECT_TRUE(Build(Call::kGenerate, R"({"model":"m"})").empty);
}

TEST(OllamaRequest, OptionsAndFormatsAreThoseOfOpenAi) {
  const Json body = Build(Call::kGenerate, R"({"model":"m","prompt":"p","format":"json","think":"low",
      "options":{"num_predict":-1,"temperature":0,"mirostat":2,"seed":null}})")
                        .body;
  EXPECT_FALSE(body.contains("max_tokens"));
  EXPECT_EQ(body["temperature"], 0);
  EXPECT_FALSE(body.contains("mirostat"));
  EXPECT_FALSE(body.contains("seed"));
  EXPECT_EQ(body["response_format"]["type"], "json_object");
  EXPECT_EQ(body["reasoning_effort"], "low");
}

TEST(OllamaRequest, TheFormatIsAWordHoweverItIsEscaped) {
  for (const char* word : {"json", R"(\u006a\u0073\u006f\u006e)"}) {
    const std::string text = std::string(R"({"model":"m","prompt":"p","format":")") + word + "\"}";
    EXPECT_EQ(Build(Call::kGenerate, text).body["response_format"]["type"], "json_object") << word;
  }
  const std::string text = R"({"model":"m","prompt":"p","format":")" + std::string(1 << 20, 'j') + "\"}";
  EXPECT_EQ(Build(Call::kGenerate, text).error, "`format` must be \"json\" or a JSON schema.");
}

TEST(OllamaRequest, OfAnOptionThatOccursTwiceTheFirstCountsHoweverManyOthersThereAre) {
  std::string options = R"("top_k":3,"num_predict":null)";
  for (int i = 0; i < 20'000; ++i) options += ",\"o" + std::to_string(i) + "\":1";
  options += R"(,"top_k":4,"num_predict":5)";
  const Json body = Build(Call::kGenerate, R"({"model":"m","prompt":"p","options":{)" + options + "}}").body;
  EXPECT_EQ(body["top_k"], 3);
  EXPECT_EQ(body["max_tokens"], 5);
  EXPECT_FALSE(body.contains("o1"));
}

std::string ChatWithCalls(int messages, size_t bytes) {
  const std::string call = R"({"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{"a":")" +
                           std::string(bytes, 'x') + "\"}}}]}";
  std::string list = call;
  for (int i = 1; i < messages; ++i) list += "," + call;
  return R"({"model":"m","messages":[)" + list + "]}";
}

TEST(OllamaRequest, ManyToolCallsArePlannedInSlicesAndBounded) {
  const Built built = Build(Call::kChat, ChatWithCalls(30, 100'000));
  ASSERT_EQ(built.body["messages"].size(), 30u);
  EXPECT_EQ(built.body["messages"][29]["tool_calls"][0]["id"], "call_29");
  const std::string all = "`messages[].tool_calls` must be at most " + std::to_string(RequestBuilder::kMostCalls);
  EXPECT_EQ(Build(Call::kChat, ChatWithCalls(90, 100'000)).error.rfind(all, 0), 0u);
  EXPECT_NE(Build(Call::kChat, ChatWithCalls(1, 300'000)).error, "");
}

TEST(OllamaRequest, ALevelOfThoughtIsNeverCut) {
  const auto thinking = [](size_t bytes) {
    return Build(Call::kGenerate, R"({"model":"m","prompt":"p","think":")" + std::string(bytes, 'x') + "\"}");
  };
  EXPECT_EQ(thinking(1000).body["reasoning_effort"], std::string(1000, 'x'));
  EXPECT_EQ(thinking(1100).error, "`think` must be at most 1024 bytes long.");
}

TEST(OllamaRequest, FaultsAreNamed) {
  EXPECT_NE(Build(Call::kChat, "{}").error, "");
  EXPECT_NE(Build(Call::kChat, R"({"model":""})").error, "");
  EXPECT_NE(Build(Call::kChat, R"({"model":"m","messages":"x"})").error, "");
  EXPECT_NE(Build(Call::kChat, R"({"model":"m","messages":["x"]})").error, "");
  EXPECT_NE(Build(Call::kChat, R"({"model":"m","messages":[{"role":7}]})").error, "");
  EXPECT_NE(Build(Call::kGenerate, R"({"model":"m","prompt":[]})").error, "");
  EXPECT_NE(Build(Call::kGenerate, R"({"model":"m","prompt":"p","template":"t"})").error, "");
  EXPECT_NE(Build(Call::kGenerate, R"({"model":"m","prompt":"p","images":[[]]})").error, "");
}

}  // namespace
}  // namespace penstock::ollama
