// The simulated engine over HTTP in vLLM's dialect.
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/simulated/vllm_face.h"

namespace penstock::simulated {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string StreamedText(const Reply& reply) {
  std::string text;
  for (const std::string& event : reply.Events()) {
    const json data = json::parse(event, nullptr, false);
    if (!data.is_object() || data["choices"].empty()) continue;
    const json& choice = data["choices"][0];
    if (choice.contains("delta")) text += choice["delta"].value("content", "");
    if (choice.contains("text")) text += choice["text"].get<std::string>();
  }
  return text;
}

std::string WholeText(const Reply& reply) {
  const json choice = reply.Json()["choices"][0];
  return (choice.contains("text") ? choice["text"] : choice["message"]["content"]).get<std::string>();
}

TEST_F(VllmFace, AChatAnswerHasTextUsageAndFinishReason) {
  json body = Chat("What is a penstock?");
  body["max_tokens"] = 7;
  const Reply reply = Ask("POST", kChat, body.dump());
  ASSERT_EQ(reply.status, 200) << reply.body;
  const json answer = reply.Json();
  EXPECT_EQ(answer["object"], "chat.completion");
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "length");
  EXPECT_FALSE(WholeText(reply).empty());
  EXPECT_EQ(answer["usage"]["completion_tokens"], 7);
  EXPECT_EQ(answer["usage"]["total_tokens"], answer["usage"]["prompt_tokens"].get<int>() + 7);
}

TEST_F(VllmFace, AStreamHasOneEventWithTextForEachToken) {
  json body = Chat("What is a penstock?");
  body["stream"] = true;
  body["stream_options"] = {{"include_usage", true}};
  const Reply reply = Ask("POST", kChat, body.dump(), {{"x-simulated-output-tokens", "25"}});
  const std::vector<std::string> events = reply.Events();
  ASSERT_EQ(events.size(), 1u + 25 + 1 + 1 + 1) << reply.body;
  EXPECT_EQ(json::parse(events[0])["choices"][0]["delta"]["role"], "assistant");
  for (size_t i = 1; i <= 25; ++i) {
    EXPECT_FALSE(json::parse(events[i])["choices"][0]["delta"]["content"].get<std::string>().empty());
    EXPECT_FALSE(json::parse(events[i]).contains("usage"));
  }
  EXPECT_EQ(json::parse(events[26])["choices"][0]["finish_reason"], "stop");
  EXPECT_THAT(json::parse(events[27])["choices"], SizeIs(0));
  EXPECT_EQ(json::parse(events[27])["usage"]["completion_tokens"], 25);
  EXPECT_EQ(events[28], "[DONE]");
}

TEST_F(VllmFace, WithoutIncludeUsageNoUsageIsStreamed) {
  json body = Chat("Hello");
  body["stream"] = true;
  body["max_tokens"] = 3;
  EXPECT_THAT(Ask("POST", kChat, body.dump()).body, testing::Not(HasSubstr("usage")));
}

TEST_F(VllmFace, StreamedAndWholeTextAreTheSame) {
  json body = Chat("Tell me about rivers.");
  const std::string whole = WholeText(Ask("POST", kChat, body.dump()));
  body["stream"] = true;
  EXPECT_EQ(StreamedText(Ask("POST", kChat, body.dump())), whole);
}

TEST_F(VllmFace, AContinuedChatGivesExactlyTheRest) {
  json body = Chat("Tell me about rivers.");
  const Headers length = {{"x-simulated-output-tokens", "40"}};
  const std::string whole = WholeText(Ask("POST", kChat, body.dump(), length));
  for (const size_t cut : {whole.find(' ', 10), whole.find(' ', 60), whole.size() - 3}) {
    json continued = body;
    continued["messages"].push_back({{"role", "assistant"}, {"content", whole.substr(0, cut)}});
    continued["continue_final_message"] = true;
    continued["add_generation_prompt"] = false;
    EXPECT_EQ(whole.substr(0, cut) + WholeText(Ask("POST", kChat, continued.dump(), length)), whole);
  }
}

TEST_F(VllmFace, MaxTokensOfAContinuedChatLimitsWhatIsStillToCome) {
  json body = Chat("Tell me about rivers.");
  body["max_tokens"] = 30;
  const std::string whole = WholeText(Ask("POST", kChat, body.dump()));
  const std::string given = whole.substr(0, whole.find(' ', 50));
  body["messages"].push_back({{"role", "assistant"}, {"content", given}});
  body["max_tokens"] = 5;
  const std::string rest = WholeText(Ask("POST", kChat, body.dump()));
  EXPECT_FALSE(rest.empty());
  EXPECT_LT(given.size() + rest.size(), whole.size());
  EXPECT_EQ(whole.substr(0, given.size() + rest.size()), given + rest);
}

TEST_F(VllmFace, AContinuedPlainPromptGivesExactlyTheRest) {
  json body = {{"model", "llama-3.1-8b"}, {"prompt", "Once upon a time"}};
  const Reply first = Ask("POST", kCompletions, body.dump());
  const std::string whole = WholeText(first);
  const size_t cut = whole.find(' ', whole.size() / 2);
  ASSERT_NE(cut, std::string::npos);
  body["prompt"] = "Once upon a time" + whole.substr(0, cut);
  EXPECT_EQ(whole.substr(0, cut) + WholeText(Ask("POST", kCompletions, body.dump())), whole);
}

TEST_F(VllmFace, ACompleteAnswerContinuedEndsAtOnceWithoutText) {
  json body = Chat("Tell me about rivers.");
  const Headers length = {{"x-simulated-output-tokens", "5"}};
  const std::string whole = WholeText(Ask("POST", kChat, body.dump(), length));
  body["messages"].push_back({{"role", "assistant"}, {"content", whole}});
  const Reply reply = Ask("POST", kChat, body.dump(), length);
  EXPECT_EQ(WholeText(reply), "");
  EXPECT_EQ(reply.Json()["choices"][0]["finish_reason"], "stop");
}

TEST_F(VllmFace, WordsOfAnotherAssistantAreNotCountedAsGiven) {
  json body = Chat("Tell me about rivers.");
  body["messages"].push_back({{"role", "assistant"}, {"content", "Sure! Rivers"}});
  body["max_tokens"] = 4;
  EXPECT_EQ(Ask("POST", kChat, body.dump()).Json()["usage"]["completion_tokens"], 4);
}

TEST_F(VllmFace, PromptsMayBeTextListsOrTokenIds) {
  for (const json& prompt : {json("Hello there"), json::array({1, 2, 3})}) {
    const Reply reply = Ask("POST", kCompletions, json{{"prompt", prompt}, {"max_tokens", 2}}.dump());
    ASSERT_EQ(reply.status, 200) << reply.body;
    EXPECT_THAT(reply.Json()["choices"], SizeIs(1));
  }
  const json list = {{"prompt", {"one", "two"}}, {"max_tokens", 2}, {"n", 2}};
  const json answer = Ask("POST", kCompletions, list.dump()).Json();
  ASSERT_THAT(answer["choices"], SizeIs(4));
  std::set<std::string> texts;
  for (const json& choice : answer["choices"]) texts.insert(choice["text"].get<std::string>());
  EXPECT_EQ(texts.size(), 4u);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 8);
  const json ids = {{"prompt", json::array({json::array({5, 6, 7}), json::array({8})})}, {"max_tokens", 1}};
  EXPECT_EQ(Ask("POST", kCompletions, ids.dump()).Json()["usage"]["prompt_tokens"], 4);
}

TEST_F(VllmFace, AStopStringEndsTheTextBeforeIt) {
  json body = Chat("Tell me about rivers.");
  const Headers length = {{"x-simulated-output-tokens", "60"}};
  const std::string whole = WholeText(Ask("POST", kChat, body.dump(), length));
  const std::string stop = whole.substr(40, 6);
  body["stop"] = {stop};
  const Reply reply = Ask("POST", kChat, body.dump(), length);
  EXPECT_EQ(WholeText(reply), whole.substr(0, whole.find(stop)));
  EXPECT_EQ(reply.Json()["choices"][0]["stop_reason"], stop);
  body["stream"] = true;
  EXPECT_EQ(StreamedText(Ask("POST", kChat, body.dump(), length)), whole.substr(0, whole.find(stop)));
}

TEST_F(VllmFace, ARequiredToolIsCalledWithArgumentsThatAreJson) {
  json body = Chat("Weather?");
  body["tools"] = {{{"type", "function"}, {"function", {{"name", "weather"}, {"parameters", json::object()}}}}};
  body["tool_choice"] = "required";
  body["max_tokens"] = 9;
  const json message = Ask("POST", kChat, body.dump()).Json()["choices"][0];
  EXPECT_EQ(message["finish_reason"], "tool_calls");
  const json& call = message["message"]["tool_calls"][0];
  EXPECT_EQ(call["function"]["name"], "weather");
  EXPECT_TRUE(json::parse(call["function"]["arguments"].get<std::string>(), nullptr, false).is_object());

  body["stream"] = true;
  std::string arguments;
  for (const std::string& event : Ask("POST", kChat, body.dump()).Events()) {
    const json data = json::parse(event, nullptr, false);
    if (!data.is_object() || !data["choices"][0]["delta"].contains("tool_calls")) continue;
    arguments += data["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"].get<std::string>();
  }
  EXPECT_EQ(arguments, call["function"]["arguments"].get<std::string>());
}

TEST_F(VllmFace, EmbeddingsAreFloatsOrBase64) {
  json body = {{"model", "llama-3.1-8b"}, {"input", {"one", "two"}}, {"dimensions", 8}};
  const json floats = Ask("POST", "/v1/embeddings", body.dump()).Json();
  ASSERT_THAT(floats["data"], SizeIs(2));
  EXPECT_THAT(floats["data"][0]["embedding"], SizeIs(8));
  EXPECT_NE(floats["data"][0]["embedding"], floats["data"][1]["embedding"]);
  EXPECT_GT(floats["usage"]["prompt_tokens"], 0);
  EXPECT_EQ(floats["usage"]["completion_tokens"], 0);
  body["encoding_format"] = "base64";
  EXPECT_EQ(Ask("POST", "/v1/embeddings", body.dump()).Json()["data"][0]["embedding"].get<std::string>().size(), 44u);
}

TEST_F(VllmFace, ACallForSeveralEmbeddingsCountsOnce) {
  const json body = {{"model", "llama-3.1-8b"}, {"input", {"one", "two", "three"}}};
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Ask("POST", "/v1/embeddings", body.dump()).status, 200);
  EXPECT_THAT(Ask("GET", "/metrics").body,
              HasSubstr("http_requests_total{handler=\"/v1/embeddings\",method=\"POST\",status=\"2xx\"} 2\n"));
}

TEST_F(VllmFace, TokenizeCountsAsUsageDoesAndDetokenizeGivesTheTextBack) {
  const std::string text = "The quick brown fox, 12345 times.";
  const json tokens = Ask("POST", "/tokenize", json{{"prompt", text}}.dump()).Json();
  EXPECT_EQ(tokens["count"], tokens["tokens"].size());
  EXPECT_EQ(tokens["max_model_len"], 16'000);
  EXPECT_EQ(Ask("POST", "/detokenize", json{{"tokens", tokens["tokens"]}}.dump()).Json()["prompt"], text);
  const json usage = Ask("POST", kCompletions, json{{"prompt", text}, {"max_tokens", 1}}.dump()).Json()["usage"];
  EXPECT_EQ(usage["prompt_tokens"], tokens["count"]);
  const json chat = Ask("POST", "/tokenize", Chat(text).dump()).Json();
  json body = Chat(text);
  body["max_tokens"] = 1;
  EXPECT_EQ(Ask("POST", kChat, body.dump()).Json()["usage"]["prompt_tokens"], chat["count"]);
}

TEST_F(VllmFace, StatusPagesAnswer) {
  EXPECT_EQ(Ask("GET", "/health").status, 200);
  EXPECT_EQ(Ask("GET", "/health").body, "");
  EXPECT_EQ(Ask("GET", "/ping").status, 200);
  EXPECT_TRUE(Ask("GET", "/version").Json().contains("version"));
  const json models = Ask("GET", "/v1/models").Json();
  EXPECT_EQ(models["data"][0]["id"], "llama-3.1-8b");
  EXPECT_EQ(models["data"][0]["max_model_len"], 16'000);
  EXPECT_EQ(Ask("GET", "/v1/models/llama-3.1-8b").status, 200);
  EXPECT_EQ(Ask("GET", "/v1/models/other").status, 404);
}

TEST_F(VllmFace, MetricsHaveTheRealNamesAndExactCounts) {
  json body = Chat("Hello");
  body["max_tokens"] = 10;
  const int prompt = Ask("POST", kChat, body.dump()).Json()["usage"]["prompt_tokens"];
  const std::string page = Ask("GET", "/metrics").body;
  for (const char* name : {"vllm:num_requests_running{", "vllm:num_requests_waiting{", "vllm:kv_cache_usage_perc{",
                           "vllm:cache_config_info{", "vllm:num_preemptions_total{", "vllm:prefix_cache_queries_total{",
                           "vllm:prefix_cache_hits_total{", "vllm:time_to_first_token_seconds_bucket{",
                           "vllm:inter_token_latency_seconds_sum{", "vllm:e2e_request_latency_seconds_count{"}) {
    EXPECT_THAT(page, HasSubstr(std::string("\n") + name));
  }
  EXPECT_THAT(page, HasSubstr("num_gpu_blocks=\"1001\",kv_cache_size_tokens=\"16000\""));
  EXPECT_EQ(Metric("vllm:prompt_tokens_total"), prompt);
  EXPECT_EQ(Metric("vllm:generation_tokens_total"), 10);
  EXPECT_EQ(Metric("vllm:request_success_total{engine=\"0\",model_name=\"llama-3.1-8b\",finished_reason=\"length\"}"),
            1);
  EXPECT_EQ(Metric("vllm:time_to_first_token_seconds_count"), 1);
  EXPECT_EQ(Metric("vllm:num_requests_running"), 0);
  EXPECT_EQ(Metric("vllm:kv_cache_usage_perc"), 0);
}

TEST_F(VllmFace, ARepeatedPromptHitsThePrefixCache) {
  const json body = {{"prompt", std::string(400, 'a')}, {"max_tokens", 1}};
  Ask("POST", kCompletions, body.dump());
  EXPECT_EQ(Metric("vllm:prefix_cache_hits_total"), 0);
  Ask("POST", kCompletions, body.dump());
  EXPECT_GT(Metric("vllm:prefix_cache_hits_total"), 0);
}

TEST_F(VllmFace, AConnectionServesManyRequests) {
  Connection connection(Port());
  json body = Chat("Hello");
  body["stream"] = true;
  body["max_tokens"] = 3;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(connection.Ask("POST", kChat, body.dump()).status, 200);
    EXPECT_EQ(connection.Ask("GET", "/health").status, 200);
  }
}

TEST_F(VllmFace, TheRequestIdBecomesPartOfTheAnswersId) {
  EXPECT_EQ(Ask("POST", kChat, Chat("x").dump(), {{"x-request-id", "abc-1"}}).Json()["id"], "chatcmpl-abc-1");
}

}  // namespace
}  // namespace penstock::simulated
