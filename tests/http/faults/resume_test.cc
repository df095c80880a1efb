// Engines that die in the middle of an answer: it goes on elsewhere as one stream, or ends with one clear error.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/http/faults/engine_pair.h"

namespace penstock {
namespace {

using Json = nlohmann::json;

TEST(Resume, AChatGoesOnElsewhereAsOneStreamHoweverItsEngineDies) {
  for (const auto& [name, death] : Deaths()) {
    SCOPED_TRACE(name);
    EnginePair pair(death, {});
    ASSERT_TRUE(pair.router.WaitUp(2));
    const WireMessage answer = pair.router.Ask(ChatStream("", "x-penstock-receipt: 1\r\n"));
    EXPECT_TRUE(answer.complete);
    const SeenStream seen = ReadStream(answer);
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
  for (const auto& [name, death] : Deaths()) {
    SCOPED_TRACE(name);
    const Death late = [&death = death, &kFinish](EngineCall& call) {
      call.Event(kFinish);
      death(call);
    };
    EnginePair pair(late, {.words_before_death = kWords});
    ASSERT_TRUE(pair.router.WaitUp(2));
    const WireMessage answer = pair.router.Ask(ChatStream(""));
    const SeenStream seen = ReadStream(answer);
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
  EnginePair pair(Deaths()[0].second, {.engine = "openai"});
  ASSERT_TRUE(pair.router.WaitUp(2));
  const WireMessage answer =
      pair.router.Ask(PostJson("/v1/completions", R"({"model":"m","prompt":"Once","stream":true,"max_tokens":6})"));
  const SeenStream seen = ReadStream(answer);
  EXPECT_EQ(seen.text, " w0 w1 w2 w3 w4 w5");
  EXPECT_EQ(seen.finish, "length");
  EXPECT_EQ(seen.errors, 0) << seen.error;
  ASSERT_EQ(pair.bodies().size(), 2u);
  EXPECT_EQ(Json::parse(pair.bodies()[1])["prompt"], "Once w0 w1 w2");
  EXPECT_EQ(Json::parse(pair.bodies()[1])["max_tokens"], 3);
}

TEST(Resume, AnAnswerOfWhichOnlyTheOpeningIsOutStartsAgain) {
  for (const std::string more : {"", R"(,"tools":[],"logprobs":true)"}) {
    EnginePair pair(Deaths()[0].second, {.words_before_death = 0});
    ASSERT_TRUE(pair.router.WaitUp(2));
    const SeenStream seen = ReadStream(pair.router.Ask(ChatStream(more)));
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
    EnginePair::Options options;
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
      {"", "budget", {}, [](Config& config) { config.limits.max_kept_text_total = Bytes(127); }},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.label + one.more);
    EnginePair pair(Deaths()[0].second, one.options, one.adjust);
    ASSERT_TRUE(pair.router.WaitUp(2));
    const WireMessage answer = pair.router.Ask(ChatStream(one.more));
    EXPECT_TRUE(answer.complete);
    const SeenStream seen = ReadStream(answer);
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
  // The first part of a text takes 128 bytes of the budget of all.
  for (const bool total : {false, true}) {
    EnginePair pair(Deaths()[0].second, {}, [total](Config& config) {
      config.limits.max_kept_text = Bytes(total ? 128 : 9);
      config.limits.max_kept_text_total = Bytes(128);
    });
    ASSERT_TRUE(pair.router.WaitUp(2));
    const SeenStream seen = ReadStream(pair.router.Ask(ChatStream()));
    EXPECT_EQ(seen.text, WholeText());
  }
}

TEST(Resume, WhenOnlyTheFinishIsMissingTheRouterSaysIt) {
  EnginePair pair(Deaths()[0].second, {.words_before_death = 3});
  ASSERT_TRUE(pair.router.WaitUp(2));
  const SeenStream seen = ReadStream(pair.router.Ask(ChatStream(",\"max_tokens\":3")));
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
  const SeenStream seen = ReadStream(router.Ask(ChatStream()));
  EXPECT_EQ(seen.text, "w");
  EXPECT_EQ(seen.finish, "stop");
  EXPECT_EQ(seen.done, 1);
  EXPECT_EQ(seen.errors, 0) << seen.error;
  EXPECT_EQ(seen.usage["completion_tokens"], 1);
  EXPECT_EQ(engine.calls(), 1);
}

TEST(Resume, AWholeAnswerThatBreaksIsGeneratedAgain) {
  for (const size_t i : {0, 1, 3, 6}) {
    SCOPED_TRACE(Deaths()[i].first);
    Death death = [&](EngineCall& call) {
      call.wire.Send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"choices\":");
      call.wire.Close();
    };
    if (i == 3) death = [](EngineCall& call) { call.Answer(200, "<html>"); };
    if (i == 6) death = [](EngineCall& call) { call.Answer(500, R"({"error":{"message":"CUDA error"}})"); };
    EnginePair pair(death, {});
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
  const SeenStream seen = ReadStream(router.Ask(ChatStream()));
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
  const SeenStream seen = ReadStream(router.Ask(ChatStream()));
  EXPECT_EQ(seen.text, "www");
  EXPECT_EQ(seen.errors, 1);
  EXPECT_EQ(engine.calls(), 3);
  EXPECT_EQ(router.Metric("penstock_resumes_total{result=\"tries\"}"), 1);
  EXPECT_EQ(router.Metric("penstock_resumes_total{result=\"continued\"}"), 2);
}

TEST(Resume, ARequestThatKillsItsEnginesMeetsTwoOfThem) {
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
  const SeenStream seen = ReadStream(router.Ask(ChatStream()));
  EXPECT_EQ(seen.text, "w");
  EXPECT_EQ(seen.errors, 1);
  EXPECT_EQ(calls, 2);
}

// The engine always has events to send, and is never further ahead of the client than a window. So the stream has no
// pause, and its length follows from the time limit and not from the speed of the machine.
TEST(Resume, AnAnswerEndsWhenItsTimeIsOverWhoeverGivesIt) {
  constexpr int kWindow = 64;
  std::atomic<int> ahead{0};
  ScriptedEngine engine(
      [&](EngineCall& call) {
        call.BeginStream();
        while (call.wire.Send("a\r\ndata: {}\n\n\r\n")) {
          if (++ahead >= kWindow) ahead.wait(kWindow);
        }
      },
      kVllmPages);
  TestServer router({engine.url()}, [](Config& config) {
    config.replicas[0].engine = "vllm";
    config.limits.answer_timeout = Duration::Milliseconds(300);
  });
  ASSERT_TRUE(router.WaitUp());
  const auto client = router.Connect();
  client->Send(ChatStream());
  std::string& unread = client->buffer();
  while (unread.find("\"error\"") == std::string::npos && client->ReadMore()) {
    const std::string event = "data: {}";
    for (size_t at; (at = unread.find(event)) != std::string::npos; unread.erase(0, at + event.size())) {
      --ahead;
      ahead.notify_one();
    }
  }
  EXPECT_NE(unread.find("\"error\""), std::string::npos);
  EXPECT_LE(unread.size(), 4096u) << "what the client had read was counted";
  ahead = std::numeric_limits<int>::min();
  ahead.notify_one();
}

}  // namespace
}  // namespace penstock
