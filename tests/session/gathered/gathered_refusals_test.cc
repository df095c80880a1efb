// Gathered answers whose engine does not go on, gives no stream, or leaves parts of it out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tests/session/gathered/gathered_job.h"

namespace penstock {
namespace {

// An engine that breaks off refuses to go on with its answer, in three ways.
TEST(GatheredAnswer, ARefusalToGoOnBehindALostEngineIsNoSecondLoss) {
  const std::string bad = R"({"error":{"message":"no such prompt","type":"BadRequestError"}})";
  for (const auto& [status, body] : {std::pair(400, bad), std::pair(500, bad), std::pair(200, kText)}) {
    std::atomic<int> calls{0};
    Job job([&, status = status, body = body](EngineCall& call) {
      const int turn = ++calls;
      if (turn == 2) return call.Answer(status, body);
      if (turn == 3 && status == 200) return call.Answer(200, kText);
      if (turn == 3) return FinishWithTwo(call);
      call.BeginStream();
      call.Event(TextJson("one"));
      call.wire.Close();
    });
    ASSERT_TRUE(job.world.Run(job.client, kPrompt, kJob));
    EXPECT_EQ(job.client.status(), 200) << status << " " << job.client.error.message;
    EXPECT_EQ(Json::parse(job.client.text)["choices"][0]["text"], status == 200 ? "hi" : " two");
    EXPECT_EQ(calls, 3);
    EXPECT_FALSE(job.world.book.Of<RequestRequeued>().back().avoid_replica) << "the lost engine is avoided instead";
  }
}

TEST(GatheredAnswer, AnEngineThatRefusesAStreamIsAskedForTheWholeAnswer) {
  for (const int status : {400, 501}) {
    std::string asked;
    Job job([&](EngineCall& call) {
      asked = call.request.body;
      if (asked == kPrompt) return call.Answer(200, kText);
      call.Answer(status, R"({"error":{"message":"Unrecognized request argument supplied: stream_options"}})");
    });
    ASSERT_TRUE(job.world.Run(job.client, kPrompt, kJob));
    EXPECT_EQ(job.client.status(), 200) << status;
    EXPECT_EQ(job.client.text, kText);
    EXPECT_EQ(asked, kPrompt);
    EXPECT_EQ(job.world.book.Of<AnswerFixed>().size(), 1U);
  }
}

TEST(GatheredAnswer, ABadRequestIsAskedOnce) {
  std::atomic<int> calls{0};
  Job job([&](EngineCall& call) {
    ++calls;
    call.Answer(400, R"({"error":{"message":"top_p must be below 1"}})");
  });
  ASSERT_TRUE(job.world.Run(job.client, kPrompt, kJob));
  EXPECT_EQ(job.client.status(), 400);
  EXPECT_EQ(calls, 1);
}

TEST(GatheredAnswer, AStreamThatMakesNoAnswerIsAFaultOfItsEngine) {
  Job job([](EngineCall& call) {
    call.BeginStream();
    call.Event(R"({"id":"c1","choices":[{"index":0,"text":5}]})");
    EndWith(call, "d");
  });
  ASSERT_TRUE(job.world.Run(job.client, kPrompt, kJob));
  EXPECT_EQ(job.client.status(), 502);
  EXPECT_EQ(job.client.ends, 1);
}

TEST(GatheredAnswer, AnAnswerWhoseStreamHasNoFinishIsAskedForWhole) {
  std::atomic<int> calls{0};
  Job job([&](EngineCall& call) {
    ++calls;
    if (call.request.body == kPrompt) return call.Answer(200, kText);
    call.BeginStream();
    call.Event(TextJson("one"));
    call.Chunk("data: [DONE]\n\n");
    call.EndStream();
  });
  ASSERT_TRUE(job.world.Run(job.client, kPrompt, kJob));
  EXPECT_EQ(job.client.status(), 200);
  EXPECT_EQ(job.client.text, kText);
  EXPECT_EQ(job.client.ends, 1);
  EXPECT_EQ(calls, 2);
}

TEST(GatheredAnswer, AStreamWithoutUsageMakesAnAnswerWithTheRoutersCount) {
  for (const bool done : {true, false}) {
    Job job([&](EngineCall& call) {
      call.BeginStream();
      for (const char* word : {"a", "b", "c"}) call.Event(TextJson(word));
      call.Event(TextJson("d", "\"stop\""));
      if (done) call.Chunk("data: [DONE]\n\n");
      call.EndStream();
    });
    ASSERT_TRUE(job.world.Run(job.client, kPrompt, kJob));
    const Json answer = Json::parse(job.client.text);
    EXPECT_EQ(answer["choices"][0]["text"], "abcd");
    EXPECT_EQ(answer["usage"]["completion_tokens"], 4);
    EXPECT_GT(answer["usage"]["prompt_tokens"], 0);
    EXPECT_EQ(job.client.ends, 1);
  }
}

TEST(GatheredAnswer, AnEngineThatGivesAWholeAnswerAllTheSameIsBelieved) {
  Job job([](EngineCall& call) { call.Answer(200, kText); });
  ASSERT_TRUE(job.world.Run(job.client, kPrompt, kJob));
  EXPECT_EQ(job.client.text, kText);
  EXPECT_EQ(job.client.ends, 1);
}

TEST(GatheredAnswer, AnAnswerThatItsEngineDoesNotGoOnWithBeginsAnew) {
  std::atomic<int> calls{0};
  std::string asked;
  Job job(Aborted(calls, asked, [&calls](EngineCall& call) {
    if (calls == 2) return call.Answer(400, R"({"error":{"message":"no such prompt","type":"BadRequestError"}})");
    FinishWithTwo(call);
  }));
  job.RunAborted();
  EXPECT_EQ(job.client.status(), 200);
  EXPECT_EQ(Json::parse(job.client.text)["choices"][0]["text"], " two");
  EXPECT_EQ(Json::parse(asked)["prompt"], "tell");
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(job.world.book.Of<AnswerFixed>().size(), 1U);
}

}  // namespace
}  // namespace penstock
