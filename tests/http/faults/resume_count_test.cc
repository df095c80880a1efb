// Resumed answers whose events held several tokens: the engine that continues the text counts its tokens.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/http/faults/engine_pair.h"

namespace penstock {
namespace {

using Json = nlohmann::json;

std::map<std::string, std::string> PagesWithoutCount() {
  std::map<std::string, std::string> pages = kVllmPages;
  pages.erase("/tokenize");
  return pages;
}

// Two engines that put two words, each a token, into an event. The first that is asked dies behind three events.
class WordPairs {
 public:
  using Count = std::function<void(EngineCall&)>;
  explicit WordPairs(Count count, int prompt = 0) : count_(std::move(count)), prompt_(prompt) {}

  // The bodies that were sent to a path, in order.
  std::vector<Json> Sent(const std::string& path) {
    std::lock_guard lock(mutex_);
    return sent_[path];
  }

 private:
  void Serve(EngineCall& call) {
    const Json body = Json::parse(call.request.body);
    std::unique_lock lock(mutex_);
    const bool prompt = call.request.target() == "/tokenize" && body.contains("messages");
    sent_[prompt ? "prompt" : call.request.target()].push_back(body);
    const bool first = sent_["/v1/chat/completions"].size() == 1;
    lock.unlock();
    if (prompt) return CountPrompt(call);
    if (call.request.target() == "/tokenize") return count_(call);
    call.BeginStream();
    if (first) {
      for (const char* words : {" a b", " c d", " e f"}) call.Event(DeltaJson(words));
      return call.wire.Close();
    }
    const int limit = body["max_tokens"];
    for (int i = 0; i < limit; ++i) call.Event(DeltaJson(" g"));
    call.Event(R"({"id":"c2","created":5,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"length"}]})");
    call.Event(UsageJson(10 + 6, limit));
    call.EndStream();
  }

  void CountPrompt(EngineCall& call) const {
    if (prompt_ == 0) return call.Answer(404, R"({"detail":"Not Found"})");
    call.Answer(200, Json({{"count", prompt_}}).dump());
  }

  const Count count_;
  const int prompt_;  // The tokens of the request by its engine; 0: it does not count requests.
  std::mutex mutex_;
  std::map<std::string, std::vector<Json>> sent_;
  ScriptedEngine a_{[this](EngineCall& call) { Serve(call); }, PagesWithoutCount()};
  ScriptedEngine b_{[this](EngineCall& call) { Serve(call); }, PagesWithoutCount()};

 public:
  TestServer router{{a_.url(), b_.url()}, [](Config& config) {
                      for (ReplicaConfig& replica : config.replicas) replica.engine = "vllm";
                    }};
};

Json UsageOf(int prompt, int output) {
  return {{"prompt_tokens", prompt}, {"completion_tokens", output}, {"total_tokens", prompt + output}};
}

TEST(ResumeCount, TheTextIsCountedByTheEngineThatContinuesIt) {
  WordPairs engines([](EngineCall& call) { call.Answer(200, R"({"count":6,"tokens":[1,2,3,4,5,6]})"); });
  ASSERT_TRUE(engines.router.WaitUp(2));
  const SeenStream seen = ReadStream(engines.router.Ask(ChatStream(",\"max_tokens\":8")));
  EXPECT_EQ(seen.text, " a b c d e f g g");
  EXPECT_EQ(seen.finish, "length");
  EXPECT_EQ(seen.usage, UsageOf(10, 8));
  const Json question = {{"prompt", " a b c d e f"}, {"add_special_tokens", false}};
  EXPECT_EQ(engines.Sent("/tokenize"), std::vector<Json>{question});
  EXPECT_EQ(engines.Sent("/v1/chat/completions")[1]["max_tokens"], 2);
  ASSERT_TRUE(engines.router.AllClosed(1));
  EXPECT_EQ(engines.router.book.Of<RequestClosed>()[0].output, Tokens(8));
}

TEST(ResumeCount, ThePromptIsThatOfTheRequestHoweverTheTemplateContinuesAText) {
  // The continued prompt has 10 + 6 tokens, so the template of the continuation lacks or adds some. A count that is far
  // off is of something else.
  for (const auto& [counted, stated] : std::map<int, int>{{10, 10}, {7, 7}, {13, 13}, {100, 10}, {1, 10}}) {
    WordPairs engines([](EngineCall& call) { call.Answer(200, R"({"count":6})"); }, counted);
    ASSERT_TRUE(engines.router.WaitUp(2));
    const SeenStream seen = ReadStream(engines.router.Ask(ChatStream(",\"max_tokens\":8")));
    EXPECT_EQ(seen.usage, UsageOf(stated, 8)) << counted;
    const std::vector<Json> asked = engines.Sent("prompt");
    ASSERT_EQ(asked.size(), 1u);
    EXPECT_EQ(asked[0]["messages"], engines.Sent("/v1/chat/completions")[0]["messages"]);
  }
}

TEST(ResumeCount, AnAnswerThatHasItsWholeLengthIsOnlyClosed) {
  WordPairs engines([](EngineCall& call) { call.Answer(200, R"({"count":6})"); });
  ASSERT_TRUE(engines.router.WaitUp(2));
  const SeenStream seen = ReadStream(engines.router.Ask(ChatStream(",\"max_tokens\":6")));
  EXPECT_EQ(seen.text, " a b c d e f");
  EXPECT_EQ(seen.finish, "length");
  EXPECT_EQ(seen.errors, 0) << seen.error;
  EXPECT_EQ(seen.usage["completion_tokens"], 6);
  EXPECT_EQ(engines.Sent("/v1/chat/completions").size(), 1u);
}

TEST(ResumeCount, WithoutACountEachEventIsATokenAndTheAnswerGoesOn) {
  const std::vector<WordPairs::Count> failures = {
      [](EngineCall& call) { call.Answer(404, R"({"detail":"Not Found"})"); },
      [](EngineCall& call) { call.Answer(200, R"({"count":"many"})"); },
      [](EngineCall& call) { call.Answer(200, "<html>"); },
      [](EngineCall& call) { call.Answer(200, std::string(1 << 20, ' ')); },
      [](EngineCall& call) { call.Answer(200, R"({"count":2})"); },
      [](EngineCall& call) { call.Answer(200, R"({"count":1000000000000})"); },
      [](EngineCall& call) { call.wire.Close(); },
      [](EngineCall& call) { call.wire.WaitClosed(); },
  };
  for (size_t i = 0; i < failures.size(); ++i) {
    SCOPED_TRACE(i);
    WordPairs engines(failures[i]);
    ASSERT_TRUE(engines.router.WaitUp(2));
    const SeenStream seen = ReadStream(engines.router.Ask(ChatStream(",\"max_tokens\":8")));
    EXPECT_EQ(seen.text, " a b c d e f g g g g g");
    EXPECT_EQ(seen.finish, "length");
    EXPECT_EQ(seen.errors, 0) << seen.error;
  }
}

TEST(ResumeCount, WithoutACountTheEventsHaveTheTokensThatTheirEngineTaught) {
  std::atomic<int> last_limit{0};
  std::atomic<int> short_answers{0};
  const auto script = [&](EngineCall& call) {
    if (call.request.target() == "/tokenize") return call.Answer(404, "{}");
    const int limit = Json::parse(call.request.body)["max_tokens"];
    const bool dies = limit <= 8 && short_answers++ == 0;
    call.BeginStream();
    if (limit <= 8 && !dies) last_limit = limit;
    for (int i = 0; i < (dies ? 3 : limit / 2); ++i) call.Event(DeltaJson(" a b"));
    if (dies) return call.wire.Close();
    call.Event(R"({"id":"c","created":5,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"length"}]})");
    call.Event(UsageJson(10, limit));
    call.EndStream();
  };
  ScriptedEngine a(script, PagesWithoutCount()), b(script, PagesWithoutCount());
  TestServer router({a.url(), b.url()}, [](Config& config) {
    config.threads = 1;
    for (ReplicaConfig& replica : config.replicas) replica.engine = "vllm";
  });
  ASSERT_TRUE(router.WaitUp(2));
  for (int i = 0; i < 2; ++i) router.Ask(ChatStream(",\"max_tokens\":4000"));
  const SeenStream seen = ReadStream(router.Ask(ChatStream(",\"max_tokens\":8")));
  EXPECT_EQ(seen.errors, 0) << seen.error;
  // Three events of nearly two tokens.
  EXPECT_EQ(last_limit, 8 - 5);
}

}  // namespace
}  // namespace penstock
