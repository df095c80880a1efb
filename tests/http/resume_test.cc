// Engines that die in the middle of an answer: it goes on elsewhere as one stream, or ends with one clear error.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/http/test_server.h"

namespace penstock {
namespace {

using Json = nlohmann::json;

const std::map<std::string, std::string> kVllmPages = {
    {"/v1/models", R"({"object":"list","data":[{"id":"m","object":"model","owned_by":"vllm","max_model_len":4096}]})"},
    {"/metrics", "vllm:num_requests_running 0\nvllm:num_requests_waiting 0\nvllm:kv_cache_usage_perc 0\n"},
    {"/health", ""}};

constexpr int kWords = 8;
std::string Word(int position) { return " w" + std::to_string(position); }
std::string WholeText() {
  std::string text;
  for (int i = 0; i < kWords; ++i) text += Word(i);
  return text;
}

// The ways in which an engine dies behind a few words.
using Death = std::function<void(EngineCall&)>;
const std::vector<std::pair<std::string, Death>> kDeaths = {
    {"closed", [](EngineCall& call) { call.wire.Close(); }},
    {"truncated chunk", [](EngineCall& call) { call.wire.Send("400\r\ndata: {\"cho"), call.wire.Close(); }},
    {"no chunk", [](EngineCall& call) { call.wire.Send("zz\r\nnonsense"), call.wire.Close(); }},
    {"garbage event", [](EngineCall& call) { call.Chunk("data: <oops>\n\n"), call.wire.WaitClosed(); }},
    {"clean end without a finish", [](EngineCall& call) { call.wire.Send("0\r\n\r\n"); }},
    {"silence", [](EngineCall& call) { call.wire.WaitClosed(); }},
    {"server error", [](EngineCall& call) { call.Event(R"({"error":{"code":500,"message":"EngineCore died"}})"); }},
    {"overloaded", [](EngineCall& call) { call.Event(R"({"error":{"code":503,"message":"shutting down"}})"); }},
};

// Two engines that say the same; the first that is asked dies once.
class Pair {
 public:
  struct Options {
    int words_before_death = 3;
    bool streams_role = true;
    bool reasons = false;
    std::string engine = "vllm";
  };
  Pair(Death death, Options options, const std::function<void(Config&)>& adjust = nullptr)
      : death_(std::move(death)), options_(options), router({a.url(), b.url()}, [&](Config& config) {
          for (ReplicaConfig& replica : config.replicas) replica.engine = options.engine;
          config.limits.gap_timeout = Duration::Milliseconds(200);
          if (adjust) adjust(config);
        }) {}

  std::vector<std::string> bodies() {
    std::lock_guard lock(mutex_);
    return bodies_;
  }

 private:
  // Words that a request has already.
  static int Given(const Json& body) {
    std::string text;
    if (body.contains("prompt")) text = body["prompt"].get<std::string>().substr(std::string("Once").size());
    if (body.contains("messages") && body["messages"].back()["role"] == "assistant") {
      text = body["messages"].back()["content"].get<std::string>();
    }
    int words = 0;
    while (words < kWords && text.find(Word(words)) != std::string::npos) ++words;
    return words;
  }
  std::string Chunk(int call, const std::string& choice, const std::string& more = "") const {
    return "{\"id\":\"c" + std::to_string(call) + "\",\"created\":" + std::to_string(call) + ",\"model\":\"engine-" +
           std::to_string(call) + "\",\"choices\":[" + choice + "]" + more + "}";
  }
  void Serve(EngineCall& call) {
    std::unique_lock lock(mutex_);
    bodies_.push_back(call.request.body);
    const int number = static_cast<int>(bodies_.size());
    lock.unlock();
    const Json body = Json::parse(call.request.body);
    const bool chat = body.contains("messages");
    const int limit = body.value("max_tokens", 100);
    if (!body.value("stream", false)) return Whole(call, number, body);
    call.BeginStream();
    if (chat && options_.streams_role) {
      call.Event(Chunk(number, R"({"index":0,"delta":{"role":"assistant","content":""}})"));
    }
    const int given = Given(body);
    int said = 0;
    for (int i = given; i < kWords && said < limit; ++i, ++said) {
      if (number == 1 && said == options_.words_before_death) return death_(call);
      const std::string field = options_.reasons ? "reasoning_content" : "content";
      call.Event(Chunk(number, chat ? R"({"index":0,"delta":{")" + field + R"(":")" + Word(i) + "\"}}"
                                    : R"({"index":0,"text":")" + Word(i) + "\"}"));
    }
    if (number == 1 && said == options_.words_before_death) return death_(call);
    const std::string reason = said == limit ? "length" : "stop";
    call.Event(Chunk(number, (chat ? R"({"index":0,"delta":{})" : R"({"index":0,"text":"")") +
                                 std::string(",\"finish_reason\":\"") + reason + "\"}"));
    const std::string usage = ",\"usage\":{\"prompt_tokens\":" + std::to_string(10 + given) +
                              ",\"completion_tokens\":" + std::to_string(said) + "}";
    if (call.request.body.find("\"include_usage\":true") != std::string::npos) call.Event(Chunk(number, "", usage));
    call.EndStream();
  }
  void Whole(EngineCall& call, int number, const Json&) {
    if (number == 1) return death_(call);
    call.Answer(200, R"({"choices":[{"index":0,"message":{"role":"assistant","content":")" + WholeText() +
                         R"("},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":8}})");
  }

  const Death death_;
  const Options options_;
  std::mutex mutex_;
  std::vector<std::string> bodies_;

 public:
  ScriptedEngine a{[this](EngineCall& call) { Serve(call); }, kVllmPages};
  ScriptedEngine b{[this](EngineCall& call) { Serve(call); }, kVllmPages};
  TestServer router;
};

// A client's reading of a stream.
struct Seen {
  std::string text;
  std::string finish;
  int roles = 0;
  int errors = 0;
  std::string error;
  int done = 0;
  Json usage;
  std::set<std::string> names;  // id, created and model of every chunk.
};
Seen Read(const WireMessage& answer) {
  Seen seen;
  for (size_t at = answer.body.find("data: "); at != std::string::npos; at = answer.body.find("data: ", at + 1)) {
    const std::string data = answer.body.substr(at + 6, answer.body.find('\n', at) - at - 6);
    if (data == "[DONE]") {
      ++seen.done;
      continue;
    }
    const Json event = Json::parse(data, nullptr, false);
    if (!event.is_object()) {
      ADD_FAILURE() << data;
      continue;
    }
    if (event.contains("error")) {
      ++seen.errors;
      seen.error = event["error"]["message"];
      continue;
    }
    seen.names.insert(event["id"].dump() + event["created"].dump() + event["model"].dump());
    if (event.contains("usage") && event["usage"].is_object()) seen.usage = event["usage"];
    for (const Json& choice : event["choices"]) {
      if (choice.contains("delta")) {
        seen.roles += choice["delta"].contains("role") ? 1 : 0;
        const Json content = choice["delta"].value("content", Json());
        if (content.is_string()) seen.text += content.get<std::string>();
      }
      if (choice.contains("text")) seen.text += choice["text"].get<std::string>();
      if (choice.contains("finish_reason") && choice["finish_reason"].is_string())
        seen.finish = choice["finish_reason"];
    }
  }
  return seen;
}

std::string ChatStream(const std::string& more = "", const std::string& headers = "") {
  return PostJson("/v1/chat/completions", StreamBody(",\"stream_options\":{\"include_usage\":true}" + more), headers);
}

TEST(Resume, AChatGoesOnElsewhereAsOneStreamHoweverItsEngineDies) {
  for (const auto& [name, death] : kDeaths) {
    SCOPED_TRACE(name);
    Pair pair(death, {});
    ASSERT_TRUE(pair.router.WaitUp(2));
    const WireMessage answer = pair.router.Ask(ChatStream("", "x-penstock-receipt: 1\r\n"));
    EXPECT_TRUE(answer.complete);
    const Seen seen = Read(answer);
    EXPECT_EQ(seen.text, WholeText());
    EXPECT_EQ(seen.finish, "stop");
    EXPECT_EQ(seen.roles, 1);
    EXPECT_EQ(seen.errors, 0) << seen.error;
    EXPECT_EQ(seen.done, 1);
    EXPECT_EQ(seen.names.size(), 1u);
    EXPECT_EQ(seen.usage, Json::parse(R"({"prompt_tokens":10,"completion_tokens":8,"total_tokens":18})"));
    EXPECT_NE(answer.body.find(": x-penstock-receipt {"), std::string::npos);
    EXPECT_NE(answer.body.find("\"resumes\":1"), std::string::npos);
    ASSERT_EQ(pair.bodies().size(), 2u);
    const Json second = Json::parse(pair.bodies()[1]);
    EXPECT_EQ(second["messages"].back(), Json({{"role", "assistant"}, {"content", " w0 w1 w2"}}));
    EXPECT_EQ(second["continue_final_message"], true);
    EXPECT_EQ(second["add_generation_prompt"], false);
    ASSERT_TRUE(pair.router.AllClosed(1));
    EXPECT_EQ(pair.router.book.Of<RequestClosed>()[0].outcome, Outcome::kFinished);
    EXPECT_EQ(pair.router.book.Of<RequestRequeued>()[0].generated, Tokens(3));
    EXPECT_EQ(pair.router.Metric("penstock_resumes_total{result=\"continued\"}"), 1);
  }
}

TEST(Resume, AnEngineThatBreaksBehindItsFinishHasLostNothing) {
  constexpr char kFinish[] =
      R"({"id":"c1","created":1,"model":"engine-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})";
  for (const auto& [name, death] : kDeaths) {
    SCOPED_TRACE(name);
    const Death late = [&death = death, &kFinish](EngineCall& call) {
      call.Event(kFinish);
      death(call);
    };
    Pair pair(late, {.words_before_death = kWords});
    ASSERT_TRUE(pair.router.WaitUp(2));
    const WireMessage answer = pair.router.Ask(ChatStream(""));
    const Seen seen = Read(answer);
    EXPECT_EQ(seen.text, WholeText());
    EXPECT_EQ(seen.errors, 0) << seen.error;
    EXPECT_EQ(seen.done, 1);
    const size_t first = answer.body.find("\"finish_reason\":\"stop\"");
    EXPECT_NE(first, std::string::npos);
    EXPECT_EQ(answer.body.find("\"finish_reason\":\"stop\"", first + 1), std::string::npos) << "one finish only";
    EXPECT_EQ(pair.bodies().size(), 1u);
  }
}

TEST(Resume, ACompletionGoesOnFromALongerPrompt) {
  Pair pair(kDeaths[0].second, {.engine = "openai"});
  ASSERT_TRUE(pair.router.WaitUp(2));
  const WireMessage answer =
      pair.router.Ask(PostJson("/v1/completions", R"({"model":"m","prompt":"Once","stream":true,"max_tokens":6})"));
  const Seen seen = Read(answer);
  EXPECT_EQ(seen.text, " w0 w1 w2 w3 w4 w5");
  EXPECT_EQ(seen.finish, "length");
  EXPECT_EQ(seen.errors, 0) << seen.error;
  ASSERT_EQ(pair.bodies().size(), 2u);
  EXPECT_EQ(Json::parse(pair.bodies()[1])["prompt"], "Once w0 w1 w2");
  EXPECT_EQ(Json::parse(pair.bodies()[1])["max_tokens"], 3);
}

TEST(Resume, AnAnswerOfWhichOnlyTheOpeningIsOutStartsAgain) {
  for (const std::string more : {"", R"(,"tools":[],"logprobs":true)"}) {
    Pair pair(kDeaths[0].second, {.words_before_death = 0});
    ASSERT_TRUE(pair.router.WaitUp(2));
    const Seen seen = Read(pair.router.Ask(ChatStream(more)));
    EXPECT_EQ(seen.text, WholeText());
    EXPECT_EQ(seen.roles, 1);
    EXPECT_EQ(seen.names.size(), 1u);
    EXPECT_EQ(seen.errors, 0) << seen.error;
    ASSERT_EQ(pair.bodies().size(), 2u);
    EXPECT_EQ(pair.bodies()[1], pair.bodies()[0]);
  }
}

TEST(Resume, WhatCannotBeContinuedFaithfullyEndsWithOneError) {
  struct Case {
    std::string more, label;
    Pair::Options options;
    std::function<void(Config&)> adjust;
  };
  const std::vector<Case> cases = {
      {R"(,"tools":[{"type":"function"}])", "tools", {}, {}},
      {R"(,"logprobs":true)", "logprobs", {}, {}},
      {R"(,"n":2)", "several", {}, {}},
      {R"(,"response_format":{"type":"json_object"})", "structured", {}, {}},
      {R"(,"guided_regex":"a+")", "structured", {}, {}},
      {R"(,"min_tokens":5)", "structured", {}, {}},
      {R"(,"echo":true)", "echo", {}, {}},
      {R"(,"add_generation_prompt":true)", "prompt", {}, {}},
      {"", "other_text", {.reasons = true}, {}},
      {"", "engine", {.engine = "openai"}, {}},
      {"", "budget", {}, [](Config& config) { config.limits.max_kept_text = Bytes(8); }},
      {"", "budget", {}, [](Config& config) { config.limits.max_kept_text_total = Bytes(511); }},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.label + one.more);
    Pair pair(kDeaths[0].second, one.options, one.adjust);
    ASSERT_TRUE(pair.router.WaitUp(2));
    const WireMessage answer = pair.router.Ask(ChatStream(one.more));
    EXPECT_TRUE(answer.complete);
    const Seen seen = Read(answer);
    EXPECT_EQ(seen.errors, 1);
    EXPECT_NE(seen.error.find("cannot be continued"), std::string::npos) << seen.error;
    EXPECT_EQ(seen.text, one.options.reasons ? "" : " w0 w1 w2");
    EXPECT_EQ(seen.done, 1);
    EXPECT_EQ(pair.bodies().size(), 1u);
    EXPECT_EQ(pair.router.Metric("penstock_resumes_total{result=\"" + one.label + "\"}"), 1);
    ASSERT_TRUE(pair.router.AllClosed(1));
    EXPECT_EQ(pair.router.book.Of<RequestClosed>()[0].outcome, Outcome::kEngineFailed);
  }
}

TEST(Resume, ATextThatFillsItsBudgetExactlyIsStillContinued) {
  // The budget of all texts together is taken in units of 512 bytes.
  for (const bool total : {false, true}) {
    Pair pair(kDeaths[0].second, {}, [total](Config& config) {
      config.limits.max_kept_text = Bytes(total ? 512 : 9);
      config.limits.max_kept_text_total = Bytes(512);
    });
    ASSERT_TRUE(pair.router.WaitUp(2));
    const Seen seen = Read(pair.router.Ask(ChatStream()));
    EXPECT_EQ(seen.text, WholeText());
  }
}

TEST(Resume, WhenOnlyTheFinishIsMissingTheRouterSaysIt) {
  Pair pair(kDeaths[0].second, {.words_before_death = 3});
  ASSERT_TRUE(pair.router.WaitUp(2));
  const Seen seen = Read(pair.router.Ask(ChatStream(",\"max_tokens\":3")));
  EXPECT_EQ(seen.text, " w0 w1 w2");
  EXPECT_EQ(seen.finish, "length");
  EXPECT_EQ(seen.done, 1);
  EXPECT_EQ(seen.errors, 0) << seen.error;
  EXPECT_EQ(seen.names.size(), 1u);
  EXPECT_EQ(seen.usage["completion_tokens"], 3);
  EXPECT_EQ(pair.bodies().size(), 1u);
}

TEST(Resume, AnAnswerThatIsCutBehindItsFinishIsComplete) {
  ScriptedEngine engine([](EngineCall& call) {
    call.BeginStream();
    call.Event(DeltaJson("w"));
    call.Event(FinishJson());
    call.wire.Send("400\r\ndata: {\"cho");
    call.wire.Close();
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const Seen seen = Read(router.Ask(ChatStream()));
  EXPECT_EQ(seen.text, "w");
  EXPECT_EQ(seen.finish, "stop");
  EXPECT_EQ(seen.done, 1);
  EXPECT_EQ(seen.errors, 0) << seen.error;
  EXPECT_EQ(seen.usage["completion_tokens"], 1);
  EXPECT_EQ(engine.calls(), 1);
}

TEST(Resume, AWholeAnswerThatBreaksIsGeneratedAgain) {
  for (const size_t i : {0, 1, 3, 6}) {
    SCOPED_TRACE(kDeaths[i].first);
    Death death = [&](EngineCall& call) {
      call.wire.Send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"choices\":");
      call.wire.Close();
    };
    if (i == 3) death = [](EngineCall& call) { call.Answer(200, "<html>"); };
    if (i == 6) death = [](EngineCall& call) { call.Answer(500, R"({"error":{"message":"CUDA error"}})"); };
    Pair pair(death, {});
    ASSERT_TRUE(pair.router.WaitUp(2));
    const WireMessage answer = pair.router.Chat();
    EXPECT_EQ(answer.status(), 200) << answer.body;
    EXPECT_NE(answer.body.find(WholeText()), std::string::npos);
    EXPECT_EQ(pair.bodies().size(), 2u);
  }
}

TEST(Resume, AnEngineThatWillNotContinueEndsTheStreamWithItsReason) {
  std::atomic<int> calls{0};
  const auto script = [&](EngineCall& call) {
    if (calls++ > 0) return call.Answer(400, R"({"error":{"message":"no prefill with thinking"}})");
    call.BeginStream();
    call.Event(DeltaJson("w"));
    call.wire.Close();
  };
  ScriptedEngine a(script, kVllmPages), b(script, kVllmPages);
  TestServer router({a.url(), b.url()}, [](Config& config) {
    for (ReplicaConfig& replica : config.replicas) replica.engine = "vllm";
  });
  ASSERT_TRUE(router.WaitUp(2));
  const Seen seen = Read(router.Ask(ChatStream()));
  EXPECT_EQ(seen.text, "w");
  EXPECT_EQ(seen.errors, 1);
  EXPECT_NE(seen.error.find("no prefill"), std::string::npos);
  EXPECT_EQ(router.Metric("penstock_resumes_total{result=\"engine\"}"), 1);
}

TEST(Resume, TriesAreBoundedInMidStreamToo) {
  ScriptedEngine engine(
      [](EngineCall& call) {
        call.BeginStream();
        call.Event(DeltaJson("w"));
        call.wire.Close();
      },
      kVllmPages);
  TestServer router({engine.url()}, [](Config& config) { config.replicas[0].engine = "vllm"; });
  ASSERT_TRUE(router.WaitUp());
  const Seen seen = Read(router.Ask(ChatStream()));
  EXPECT_EQ(seen.text, "wwwwww");
  EXPECT_EQ(seen.errors, 1);
  EXPECT_EQ(engine.calls(), 6);
  EXPECT_EQ(router.Metric("penstock_resumes_total{result=\"tries\"}"), 1);
  EXPECT_EQ(router.Metric("penstock_resumes_total{result=\"continued\"}"), 5);
}

TEST(Resume, ARequestThatKillsItsEnginesMeetsThreeOfThem) {
  std::atomic<int> calls{0};
  const auto script = [&](EngineCall& call) {
    call.BeginStream();
    if (calls++ == 0) call.Event(DeltaJson("w"));
    call.wire.Close();
  };
  ScriptedEngine a(script, kVllmPages), b(script, kVllmPages);
  TestServer router({a.url(), b.url()}, [](Config& config) {
    for (ReplicaConfig& replica : config.replicas) replica.engine = "vllm";
  });
  ASSERT_TRUE(router.WaitUp(2));
  const Seen seen = Read(router.Ask(ChatStream()));
  EXPECT_EQ(seen.text, "w");
  EXPECT_EQ(seen.errors, 1);
  EXPECT_EQ(calls, 3);
}

TEST(Resume, AnAnswerEndsWhenItsTimeIsOverWhoeverGivesIt) {
  ScriptedEngine engine(
      [](EngineCall& call) {
        call.BeginStream();
        while (call.wire.Send("a\r\ndata: {}\n\n\r\n")) std::this_thread::yield();
      },
      kVllmPages);
  TestServer router({engine.url()}, [](Config& config) {
    config.replicas[0].engine = "vllm";
    config.limits.answer_timeout = Duration::Milliseconds(300);
  });
  ASSERT_TRUE(router.WaitUp());
  const auto client = router.Connect();
  client->Send(ChatStream());
  EXPECT_NE(client->ReadUntil("\"error\""), std::string::npos);
}

}  // namespace
}  // namespace penstock
