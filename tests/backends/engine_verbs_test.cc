// The sleep and the wake of an engine over sockets, with engines that refuse, lie, hang and die.
#include "backends/engines/verbs/engine_verbs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <deque>
#include <map>

#include "backends/engines/catalogue/engine_catalogue.h"
#include "tests/backends/transport/scripted_server.h"

namespace penstock {
namespace {

namespace asio = boost::asio;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kRefusal = "HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nNot Found";
const std::string kAwake = Answer(R"({"is_sleeping":false})");
const std::string kAsleep = Answer(R"({"is_sleeping":true})");

// Gives each path its answers in order, the last one for ever. A path without answers is refused; an empty answer is
// none. Notes the requests that are no GET.
struct ScriptedEngine {
  std::map<std::string, std::deque<std::string>> answers;
  std::vector<std::string> verbs;
  std::string last_head;

  ScriptedServer::Script script() {
    return [this](Peer& peer) -> asio::awaitable<void> {
      while (true) {
        const std::string request = co_await peer.Request();
        if (request.empty()) co_return;
        const size_t start = request.find(' ') + 1;
        const std::string path = request.substr(start, request.find(' ', start) - start);
        if (request.rfind("GET", 0) != 0) {
          verbs.push_back(path);
          last_head = request;
        }
        std::deque<std::string>& mine = answers[path];
        const std::string answer = mine.empty() ? kRefusal : mine.front();
        if (mine.size() > 1) mine.pop_front();
        if (answer.empty()) {
          co_await peer.UntilClosed();
          co_return;
        }
        if (answer == "close") co_return;
        co_await peer.Send(answer);
      }
    };
  }
};

VerbEnd RunVerb(ScriptedEngine& engine, Verb verb, EngineKind kind = EngineKind::kVllm,
                SleepTarget target = {"m", 1, ""}, Duration timeout = Duration::Seconds(5)) {
  asio::io_context loop;
  ScriptedServer server(loop, {engine.script()});
  UpstreamPool pool(loop, server.address(), {});
  EngineVerbs verbs(loop, pool, "secret", EngineOf(kind).sleep_verbs, std::move(target));
  return RunToEnd(loop, verbs.Run(verb, timeout));
}

TEST(EngineVerbs, SleepAndWakeAreSentWithTheKeyAndConfirmed) {
  ScriptedEngine engine;
  engine.answers = {{"/sleep?level=1", {Answer("")}}, {"/is_sleeping", {kAwake, kAsleep}}};
  EXPECT_TRUE(RunVerb(engine, Verb::kSleep).ok());
  EXPECT_THAT(engine.verbs, ElementsAre("/sleep?level=1"));
  EXPECT_THAT(engine.last_head, HasSubstr("Bearer secret"));
  engine.answers = {{"/wake_up", {Answer("")}}, {"/is_sleeping", {kAwake}}};
  EXPECT_TRUE(RunVerb(engine, Verb::kWake).ok());
}

TEST(EngineVerbs, TheRequestsOfAVerbFollowEachOther) {
  ScriptedEngine engine;
  engine.answers = {{"/wake_up?tags=weights", {Answer("")}},
                    {"/collective_rpc", {Answer("{}")}},
                    {"/wake_up?tags=kv_cache", {Answer("")}},
                    {"/is_sleeping", {kAwake}}};
  EXPECT_TRUE(RunVerb(engine, Verb::kWake, EngineKind::kVllm, {"m", 2, ""}).ok());
  EXPECT_THAT(engine.verbs, ElementsAre("/wake_up?tags=weights", "/collective_rpc", "/wake_up?tags=kv_cache"));
}

TEST(EngineVerbs, ARefusalTellsTheOperatorWhatToDo) {
  ScriptedEngine engine;
  const VerbEnd end = RunVerb(engine, Verb::kSleep);
  EXPECT_EQ(end.fault, VerbFault::kRefused);
  EXPECT_EQ(
      end.message,
      "POST /sleep?level=1: status 404: Not Found; start vLLM with VLLM_SERVER_DEV_MODE=1 and --enable-sleep-mode");
}

TEST(EngineVerbs, AnEngineThatIsNotIdleIsBusyAndGetsNoFurtherRequest) {
  ScriptedEngine engine;
  engine.answers = {{"/flush_cache", {"HTTP/1.1 400 X\r\nContent-Length: 19\r\n\r\nFlush cache failed.\n"}}};
  const VerbEnd busy = RunVerb(engine, Verb::kSleep, EngineKind::kSglang);
  EXPECT_EQ(busy.fault, VerbFault::kBusy);
  EXPECT_EQ(busy.message, "POST /flush_cache: status 400: Flush cache failed.");
  EXPECT_THAT(engine.verbs, ElementsAre("/flush_cache"));
  engine.answers = {{"/flush_cache", {Answer("Cache flushed.")}}, {"/release_memory_occupation", {Answer("null")}}};
  EXPECT_TRUE(RunVerb(engine, Verb::kSleep, EngineKind::kSglang).ok());
  EXPECT_THAT(engine.verbs, ElementsAre("/flush_cache", "/flush_cache", "/release_memory_occupation"));
}

TEST(EngineVerbs, ARefusalOfWhatIsDoneAlreadyIsNoFault) {
  ScriptedEngine engine;
  engine.answers = {{"/models", {Answer(R"({"data":[{"id":"m","status":{"value":"loaded"}}]})")}}};
  EXPECT_TRUE(RunVerb(engine, Verb::kWake, EngineKind::kLlamaCpp).ok());
  EXPECT_THAT(engine.verbs, ElementsAre("/models/load"));
}

TEST(EngineVerbs, AnAnswerBeforeTheEndIsFollowedByTheWaitForThePage) {
  ScriptedEngine engine;
  const auto page = [](const std::string& value) {
    return Answer(R"({"data":[{"id":"m","status":{"value":")" + value + "\"}}]}");
  };
  engine.answers = {{"/models/load", {Answer(R"({"success":true})")}},
                    {"/models", {page("unloaded"), page("loading"), page("loading"), page("loaded")}}};
  EXPECT_TRUE(RunVerb(engine, Verb::kWake, EngineKind::kLlamaCpp).ok());
  engine.answers["/models"] = {page("loading"),
                               Answer(R"({"data":[{"id":"m","status":{"value":"unloaded","failed":true}}]})")};
  const VerbEnd failed = RunVerb(engine, Verb::kWake, EngineKind::kLlamaCpp);
  EXPECT_EQ(failed.fault, VerbFault::kServer);
  EXPECT_THAT(failed.message, HasSubstr("its model could not be loaded"));
  engine.answers["/models"] = {page("loading")};
  const VerbEnd late = RunVerb(engine, Verb::kWake, EngineKind::kLlamaCpp, {"m", 1, ""}, Duration::Milliseconds(120));
  EXPECT_EQ(late.fault, VerbFault::kTimeout);
  EXPECT_THAT(late.message, HasSubstr("it loads"));
}

TEST(EngineVerbs, AnErrorOfTheEngineIsNamed) {
  ScriptedEngine engine;
  engine.answers = {{"/wake_up", {"HTTP/1.1 500 X\r\nContent-Length: 13\r\n\r\nCUDA \nout of m"}}};
  const VerbEnd end = RunVerb(engine, Verb::kWake);
  EXPECT_EQ(end.fault, VerbFault::kServer);
  EXPECT_THAT(end.message, HasSubstr("POST /wake_up: status 500: CUDA  out of "));
}

TEST(EngineVerbs, AFailedWakeIsPutBackToTheSleepFromBefore) {
  ScriptedEngine engine;
  engine.answers = {{"/wake_up?tags=weights", {Answer("")}},
                    {"/collective_rpc", {"HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n"}},
                    {"/sleep?level=2", {Answer("")}},
                    {"/is_sleeping", {kAsleep}}};
  const VerbEnd end = RunVerb(engine, Verb::kWake, EngineKind::kVllm, {"m", 2, ""});
  EXPECT_EQ(end.fault, VerbFault::kServer);
  EXPECT_FALSE(end.holds);
  EXPECT_THAT(engine.verbs, ElementsAre("/wake_up?tags=weights", "/collective_rpc", "/sleep?level=2"));
}

TEST(EngineVerbs, AFailedWakeThatCannotBePutBackMayHoldMemory) {
  ScriptedEngine engine;
  engine.answers = {{"/wake_up", {""}}, {"/sleep?level=1", {""}}, {"/is_sleeping", {kAsleep}}};
  const VerbEnd end = RunVerb(engine, Verb::kWake, EngineKind::kVllm, {"m", 1, ""}, Duration::Milliseconds(100));
  EXPECT_EQ(end.fault, VerbFault::kTimeout);
  EXPECT_TRUE(end.holds);
  EXPECT_EQ(end.message,
            "POST /wake_up: no answer in time; and it may hold its memory: POST /sleep?level=1: no answer in time");
}

TEST(EngineVerbs, AWakeThatTheEngineRefusedTookNoMemory) {
  ScriptedEngine engine;
  const VerbEnd end = RunVerb(engine, Verb::kWake);
  EXPECT_EQ(end.fault, VerbFault::kRefused);
  EXPECT_FALSE(end.holds);
  EXPECT_THAT(engine.verbs, ElementsAre("/wake_up"));
}

TEST(EngineVerbs, AnEngineThatDiesIsNotReached) {
  ScriptedEngine engine;
  engine.answers = {{"/wake_up", {"close"}}};
  EXPECT_NE(RunVerb(engine, Verb::kWake).fault, VerbFault::kNone);
}

TEST(EngineVerbs, AWakeThatNeverEndsIsGivenUp) {
  ScriptedEngine engine;
  engine.answers = {{"/wake_up", {""}}, {"/is_sleeping", {kAsleep}}};
  const VerbEnd end = RunVerb(engine, Verb::kWake, EngineKind::kVllm, {"m", 1, ""}, Duration::Milliseconds(100));
  EXPECT_EQ(end.fault, VerbFault::kTimeout);
  EXPECT_EQ(end.message, "POST /wake_up: no answer in time");
}

TEST(EngineVerbs, AnEngineThatTookAVerbAndDidNothingIsFound) {
  ScriptedEngine engine;
  engine.answers = {{"/sleep?level=1", {Answer("")}}, {"/is_sleeping", {kAwake}}};
  const VerbEnd end = RunVerb(engine, Verb::kSleep, EngineKind::kVllm, {"m", 1, ""}, Duration::Milliseconds(100));
  EXPECT_EQ(end.fault, VerbFault::kUnchanged);
  EXPECT_EQ(end.message, "the engine took the request, but says on /is_sleeping that it is awake");
}

TEST(EngineVerbs, AnEngineThatSaysItSleepsAndAnswersIsAwake) {
  ScriptedEngine engine;
  engine.answers = {{"/wake_up", {Answer("")}}, {"/is_sleeping", {kAsleep}}, {"/v1/completions", {Answer("{}")}}};
  const VerbEnd end = RunVerb(engine, Verb::kWake, EngineKind::kVllm, {"m", 1, ""}, Duration::Milliseconds(100));
  EXPECT_TRUE(end.ok());
  EXPECT_TRUE(end.page_lies);
  EXPECT_THAT(engine.last_head, HasSubstr(R"({"max_tokens":1,"model":"m","prompt":"a"})"));
}

TEST(EngineVerbs, WithoutAPageTheAnswerToTheVerbCounts) {
  ScriptedEngine engine;
  engine.answers = {{"/flush_cache", {Answer("")}}, {"/release_memory_occupation", {Answer("")}}};
  EXPECT_TRUE(RunVerb(engine, Verb::kSleep, EngineKind::kSglang).ok());
}

TEST(EngineVerbs, AStopEndsAVerbAtOnce) {
  ScriptedEngine engine;
  engine.answers = {{"/wake_up", {""}}};
  asio::io_context loop;
  ScriptedServer server(loop, {engine.script()});
  UpstreamPool pool(loop, server.address(), {});
  EngineVerbs verbs(loop, pool, "", EngineOf(EngineKind::kVllm).sleep_verbs, {"m", 1, ""});
  std::function<void()> stop_when_asked = [&] {
    if (!engine.verbs.empty()) return verbs.Stop();
    asio::post(loop, stop_when_asked);
  };
  asio::post(loop, stop_when_asked);
  EXPECT_EQ(RunToEnd(loop, verbs.Run(Verb::kWake, Duration::Seconds(600))).fault, VerbFault::kStopped);
}

}  // namespace
}  // namespace penstock
