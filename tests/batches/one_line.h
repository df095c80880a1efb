// One line of a batch in front of a scripted engine on loopback, in a session without a socket.
#ifndef PENSTOCK_TESTS_BATCHES_ONE_LINE_H_
#define PENSTOCK_TESTS_BATCHES_ONE_LINE_H_

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "router/jobs/run/line_client.h"
#include "tests/session/session_world.h"

namespace penstock::jobs {

using Json = nlohmann::json;

inline const std::string kWhole =
    R"({"id":"c1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},)"
    R"("finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}})";
inline constexpr Bytes kBudget{1 << 30};
inline const std::string kPrompt = R"({"model":"m","prompt":"tell","max_tokens":64})";

inline std::string TextJson(const std::string& text, const std::string& finish = "null") {
  return R"({"id":"c1","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":")" + text +
         R"(","finish_reason":)" + finish + "}]}";
}
inline const std::string kUsage = R"({"id":"c1","object":"text_completion","created":1,"model":"m","choices":[],)"
                                  R"("usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}})";

// The observer of a session, and its request.
class Inside final : public SessionObserver {
 public:
  explicit Inside(const std::string& service_class = "background")
      : request{{TenantId(7), "", "", ""}, service_class, this} {}
  void OnForward() override { ++forwards; }
  void OnRequeue() override { ++requeues; }
  void OnAnswered(const Usage& counted) override { usage = counted; }

  InsideRequest request;
  int forwards = 0;
  int requeues = 0;
  Usage usage;
};

// A line, its session, and the engine with this script.
struct OneLine {
  explicit OneLine(ScriptedEngine::Script script, Endpoint endpoint = Endpoint::kChat, Bytes budget = kBudget)
      : engine(std::move(script)), world(engine.url()), client(world.loop(), budget, endpoint) {
    EXPECT_TRUE(world.WaitUp());
    world.inside = &inside.request;
    world.endpoint = endpoint;
  }

  ScriptedEngine engine;
  SessionWorld world;
  Inside inside;
  LineClient client;
};

// An engine whose completion is a stream of choices with these members.
inline ScriptedEngine::Script Choices(std::vector<std::string> choices, int* runs) {
  return [choices = std::move(choices), runs](EngineCall& call) {
    ++*runs;
    call.BeginStream();
    for (const std::string& members : choices) call.Event(R"({"id":"c1","choices":[{"index":0,)" + members + "}]}");
    call.Event(TextJson("", "\"stop\""));
    call.Event(kUsage);
    call.Chunk("data: [DONE]\n\n");
    call.EndStream();
  };
}

}  // namespace penstock::jobs

#endif  // PENSTOCK_TESTS_BATCHES_ONE_LINE_H_
