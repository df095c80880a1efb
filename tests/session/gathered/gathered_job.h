// A job whose answer is gathered, in front of a scripted engine of completions.
#ifndef PENSTOCK_TESTS_SESSION_GATHERED_GATHERED_JOB_H_
#define PENSTOCK_TESTS_SESSION_GATHERED_GATHERED_JOB_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tests/session/session_world.h"

namespace penstock {

using Json = nlohmann::json;

inline const std::string kPrompt = R"({"model":"m","prompt":"tell","max_tokens":64})";
inline const std::string kText =
    R"({"id":"c1","object":"text_completion","choices":[{"index":0,"text":"hi","finish_reason":"stop"}],)"
    R"("usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}})";
inline const std::string kUsage = R"({"id":"c1","object":"text_completion","created":1,"model":"m","choices":[],)"
                                  R"("usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}})";
inline const HeaderList kJob = {{"x-penstock-class", "background"}, {"x-penstock-receipt", "1"}};

inline std::string TextJson(const std::string& text, const std::string& finish = "null") {
  return R"({"id":"c1","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":")" + text +
         R"(","finish_reason":)" + finish + "}]}";
}

inline void EndWith(EngineCall& call, const std::string& last) {
  call.Event(TextJson(last, "\"stop\""));
  call.Event(kUsage);
  call.Chunk("data: [DONE]\n\n");
  call.EndStream();
}

// A client of completions in the class background, in front of an engine with this script.
struct Job {
  explicit Job(ScriptedEngine::Script script, void (*adjust)(Config&) = nullptr)
      : engine(std::move(script)), world(Adjusted(engine.url(), adjust)) {
    world.endpoint = Endpoint::kCompletions;
    EXPECT_TRUE(world.WaitUp());
  }
  static Config Adjusted(const std::string& url, void (*adjust)(Config&)) {
    Config config = ConfigOf(url);
    if (adjust != nullptr) adjust(config);
    return config;
  }
  void RunAborted() {
    std::future<void> ended = world.Begin(client, kPrompt, kJob);
    EXPECT_TRUE(Eventually([&] { return !world.book.Of<FirstToken>().empty(); }));
    world.Abort();
    EXPECT_EQ(ended.wait_for(kPatience), std::future_status::ready);
  }

  ScriptedEngine engine;
  SessionWorld world;
  MemoryClient client;
};

// The engine is aborted in the middle of its first answer; `next` is the script from then on.
inline ScriptedEngine::Script Aborted(std::atomic<int>& calls, std::string& asked, ScriptedEngine::Script next) {
  return [&, next = std::move(next)](EngineCall& call) {
    if (calls++ > 0) {
      asked = call.request.body;
      return next(call);
    }
    call.BeginStream();
    call.Event(TextJson("one"));
    call.wire.WaitClosed();
  };
}

inline void FinishWithTwo(EngineCall& call) {
  call.BeginStream();
  EndWith(call, " two");
}

}  // namespace penstock

#endif  // PENSTOCK_TESTS_SESSION_GATHERED_GATHERED_JOB_H_
