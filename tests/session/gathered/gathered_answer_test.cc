// Whole answers of an evictable class: the engine streams, and the client sees one answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tests/session/gathered/gathered_job.h"

namespace penstock {
namespace {

TEST(GatheredAnswer, AnEngineStreamsAndItsClientGetsOneWholeAnswer) {
  for (const bool slow : {false, true}) {
    std::string asked;
    Job job([&](EngineCall& call) {
      asked = call.request.body;
      call.BeginStream();
      for (const char* word : {"a", "b", "c"}) call.Event(TextJson(word));
      EndWith(call, "d");
    });
    if (slow) job.client.reading = MemoryClient::Reading::kLater;
    ASSERT_TRUE(job.world.Run(job.client, kPrompt, kJob));
    EXPECT_EQ(job.client.status(), 200);
    EXPECT_EQ(job.client.content_type, "application/json");
    EXPECT_EQ(job.client.ends, 1);
    EXPECT_EQ(job.client.comments, 0);
    const Json answer = Json::parse(job.client.text);
    EXPECT_EQ(answer["object"], "text_completion");
    EXPECT_EQ(answer["choices"][0]["text"], "abcd");
    EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
    EXPECT_EQ(answer["usage"]["prompt_tokens"], 9);
    EXPECT_EQ(answer["usage"]["completion_tokens"], 4);
    EXPECT_EQ(Json::parse(asked)["stream"], true);
    EXPECT_EQ(Json::parse(asked)["stream_options"]["include_usage"], true);
    const RequestArrived arrived = job.world.book.Of<RequestArrived>()[0];
    EXPECT_TRUE(arrived.continues && arrived.observed && arrived.whole);
    EXPECT_EQ(job.world.book.Of<RequestClosed>()[0].output, Tokens(4));
  }
}

TEST(GatheredAnswer, OtherRequestsGoToTheirEngineAsTheyAre) {
  std::string asked;
  Job job([&](EngineCall& call) {
    asked = call.request.body;
    call.Answer(200, kText);
  });
  const HeaderList standard = {{"x-penstock-class", "standard"}};
  const std::string seeded = R"({"model":"m","prompt":"tell","max_tokens":64,"seed":1})";
  const std::string two = R"({"model":"m","prompt":"tell","max_tokens":64,"n":2})";
  const std::string unlimited = R"({"model":"m","prompt":"tell"})";
  const std::string tokens = R"({"model":"m","prompt":"tell","max_tokens":64,"return_token_ids":true})";
  for (const auto& [body, headers] : {std::pair(kPrompt, standard), std::pair(seeded, kJob), std::pair(two, kJob),
                                      std::pair(unlimited, kJob), std::pair(tokens, kJob)}) {
    MemoryClient client;
    ASSERT_TRUE(job.world.Run(client, body, headers));
    EXPECT_EQ(client.text, kText);
    EXPECT_EQ(asked, body);
    const RequestArrived arrived = job.world.book.Of<RequestArrived>().back();
    EXPECT_TRUE(!arrived.continues && !arrived.observed && arrived.whole);
  }
}

TEST(GatheredAnswer, ARequestThatIsTakenBackGoesOnFromItsText) {
  std::atomic<int> calls{0};
  std::string asked;
  Job job(Aborted(calls, asked, FinishWithTwo));
  job.RunAborted();
  const Json answer = Json::parse(job.client.text);
  EXPECT_EQ(answer["choices"][0]["text"], "one two");
  EXPECT_EQ(answer["id"], "c1");
  EXPECT_EQ(Json::parse(asked)["prompt"], "tellone");
  EXPECT_EQ(job.client.ends, 1);
  EXPECT_THAT(std::string(FindHeader(job.client.headers, "x-penstock-receipt")), ::testing::HasSubstr("\"resumes\":1"));
}

TEST(GatheredAnswer, AnAnswerWhoseTextIsNotKeptBeginsAnew) {
  std::atomic<int> calls{0};
  std::string asked;
  Job job(Aborted(calls, asked, FinishWithTwo), [](Config& config) { config.limits.max_kept_text = Bytes(1); });
  job.RunAborted();
  EXPECT_EQ(Json::parse(job.client.text)["choices"][0]["text"], " two");
  EXPECT_EQ(Json::parse(asked)["prompt"], "tell");
}

TEST(GatheredAnswer, AnswersThatHoldAQuarterOfTheirMemoryAreGatheredNoMore) {
  std::string asked;
  Job job(
      [&](EngineCall& call) {
        asked = call.request.body;
        call.Answer(200, kText);
      },
      [](Config& config) { config.limits.max_answer_memory = Bytes(200'000); });
  FairShare others(&job.world.loop().edge().answers, 1);
  ASSERT_TRUE(others.GrowTo(Bytes(60'000), Bytes(200'000)));
  ASSERT_TRUE(job.world.Run(job.client, kPrompt, kJob));
  EXPECT_EQ(asked, kPrompt);
  EXPECT_EQ(job.client.text, kText);
}

TEST(GatheredAnswer, AnAnswerThatIsTooLongIsOneError) {
  Job job(
      [](EngineCall& call) {
        call.BeginStream();
        for (int i = 0; i < 4; ++i) call.Event(TextJson(std::string(40'000, 'x')));
        EndWith(call, "d");
      },
      [](Config& config) { config.limits.max_answer = Bytes(100'000); });
  ASSERT_TRUE(job.world.Run(job.client, kPrompt, kJob));
  EXPECT_EQ(job.client.status(), 502);
  EXPECT_THAT(job.client.error.message, ::testing::HasSubstr("limits.max_answer"));
  EXPECT_EQ(job.client.text, "");
}

TEST(GatheredAnswer, AnAnswerThatFindsNoMemoryIsTurnedAway) {
  Job job(
      [](EngineCall& call) {
        call.BeginStream();
        for (int i = 0; i < 9; ++i) call.Event(TextJson(std::string(40'000, 'x')));
        EndWith(call, "d");
      },
      [](Config& config) { config.limits.max_answer_memory = Bytes(200'000); });
  ASSERT_TRUE(job.world.Run(job.client, kPrompt, kJob));
  EXPECT_EQ(job.client.status(), 503);
  EXPECT_EQ(job.client.error.reason, LabelOf(TurnedAway::kAnswerMemory));
  EXPECT_EQ(job.client.text, "");
}

TEST(GatheredAnswer, ALongEventAndALongAnswerComeInParts) {
  const std::string text(600'000, 'x');
  Job job([&](EngineCall& call) {
    call.BeginStream();
    call.Event(TextJson(text));
    EndWith(call, "d");
  });
  ASSERT_TRUE(job.world.Run(job.client, kPrompt, kJob));
  EXPECT_TRUE(job.client.in_parts);
  EXPECT_EQ(job.client.length, job.client.text.size());
  EXPECT_TRUE(Json::parse(job.client.text)["choices"][0]["text"] == text + "d");
  EXPECT_EQ(job.client.ends, 1);
}

TEST(GatheredAnswer, AClientThatGoesFreesEverything) {
  Job job([](EngineCall& call) {
    call.BeginStream();
    call.Event(TextJson("one"));
    call.wire.WaitClosed();
  });
  std::future<void> ended = job.world.Begin(job.client, kPrompt, kJob);
  ASSERT_TRUE(Eventually([&] { return !job.world.book.Of<FirstToken>().empty(); }));
  job.world.Call([&] { job.client.Go(); });
  ASSERT_EQ(ended.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(job.client.text, "");
  EXPECT_EQ(job.world.book.Of<RequestClosed>()[0].outcome, Outcome::kClientGone);
}

}  // namespace
}  // namespace penstock
