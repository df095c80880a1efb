// A stream at an even pace: the first token at once, the others at their time, and nothing lost on the way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/session/paced_stream.h"

namespace penstock {
namespace {

TEST(Pace, OneTokenPerTpotFromTheFirstOn) {
  const Instant arrival = Instant() + Duration::Seconds(5);
  const Pace pace{arrival, kPacedTtft, Duration::Milliseconds(100)};
  const Instant first = arrival + Duration::Seconds(1);
  EXPECT_EQ(pace.ReleaseOf(0, first), first);
  EXPECT_EQ(pace.ReleaseOf(30, first), first + Duration::Seconds(3));
}

TEST(Pace, AStreamThatBeganLateIsNotHeldBeyondItsDueTimes) {
  const Instant arrival = Instant() + Duration::Seconds(5);
  const Pace pace{arrival, kPacedTtft, Duration::Milliseconds(100)};
  const Instant late = arrival + Duration::Seconds(12);
  EXPECT_EQ(pace.ReleaseOf(30, late), arrival + kPacedTtft + Duration::Seconds(3) - Pace::kMargin);
}

TEST(PacedClient, TheFirstTokenPassesAtOnceAndTheOthersWait) {
  PacedStream stream(Duration::Seconds(60));
  stream.Tokens(0, 4);
  EXPECT_EQ(stream.Text(), "0,");
  stream.Drain();
  EXPECT_TRUE(Eventually([&] { return stream.Text() == "0,1,2,3,"; })) << "a router that drains holds nothing back";
}

TEST(PacedClient, TheEndComesBehindTheLastToken) {
  for (const bool slow : {false, true}) {
    PacedStream stream(Duration::Milliseconds(40));
    stream.Tokens(0, 1);
    if (slow) stream.client.reading = MemoryClient::Reading::kLater;
    const Instant begin = Now();
    stream.Tokens(1, 11);
    std::future<bool> end = stream.End();
    ASSERT_EQ(end.wait_for(kPatience), std::future_status::ready);
    EXPECT_TRUE(end.get());
    EXPECT_GE(Now() - begin, Duration::Milliseconds(350));
    EXPECT_EQ(stream.Text(), "0,1,2,3,4,5,6,7,8,9,10,");
    EXPECT_EQ(stream.client.ends, 1);
  }
}

TEST(PacedClient, AnErrorComesBehindTheTokensAndMakesThemHurry) {
  PacedStream stream(Duration::Seconds(60));
  stream.Tokens(0, 3);
  const ApiError error = CutByShutdown();
  std::future<bool> end = stream.Error(error);
  ASSERT_EQ(end.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(stream.Text(), "0,1,2,");
  EXPECT_TRUE(stream.client.failed);
}

TEST(PacedClient, AClientThatGoesEndsTheWait) {
  PacedStream stream(Duration::Seconds(60));
  stream.Tokens(0, 3);
  std::future<bool> end = stream.End();
  stream.Go();
  ASSERT_EQ(end.wait_for(kPatience), std::future_status::ready);
  EXPECT_FALSE(end.get());
  EXPECT_EQ(stream.Text(), "0,");
}

TEST(PacedClient, TokensThatFindNoMemoryDoNotWait) {
  Config config = ConfigOf("http://127.0.0.1:1");
  config.limits.max_answer_memory = Bytes(1);
  PacedStream stream(Duration::Seconds(60), config);
  stream.Tokens(0, 3000);
  EXPECT_THAT(stream.Text(), ::testing::EndsWith("2998,2999,"));
}

TEST(PacedClient, TokensOfOneReadComeOneByOne) {
  PacedStream stream(Duration::Seconds(60));
  EXPECT_EQ(stream.Read(0, 4), Written::kAll);
  EXPECT_EQ(stream.Text(), "0,");
  EXPECT_EQ(stream.reached(), 1);
  stream.Drain();
  EXPECT_TRUE(Eventually([&] { return stream.Text() == "0,1,2,3,"; }));
  EXPECT_EQ(stream.reached(), 4);
}

TEST(PacedClient, AnEventWithoutTokensComesWithTheTokenBeforeIt) {
  PacedStream stream(Duration::Seconds(60));
  stream.Tokens(0, 1);
  EXPECT_EQ(stream.Read(1, 1), Written::kAll);
  stream.Tokens(1, 2);
  EXPECT_EQ(stream.Text(), "0,");
  EXPECT_EQ(stream.reached(), 0);
}

TEST(PacedClient, AnEventTakesTheTimeOfItsTokens) {
  PacedStream stream(Duration::Milliseconds(20));
  const Instant begin = Now();
  stream.Read(0, 3, /*tokens_per_event=*/10);
  EXPECT_EQ(stream.Text(), "0,");
  EXPECT_TRUE(Eventually([&] { return stream.Text() == "0,1,2,"; }));
  EXPECT_GE(Now() - begin, Duration::Milliseconds(400));
}

TEST(PacedClient, TokensDoNotWaitWhereOthersNeedTheMemory) {
  Config config = ConfigOf("http://127.0.0.1:1");
  config.limits.max_answer_memory = Bytes(1 << 20);
  PacedStream stream(Duration::Seconds(60), config);
  stream.OthersHold(Bytes(300 << 10), config.limits.max_answer_memory);
  stream.Tokens(0, 4);
  EXPECT_EQ(stream.Text(), "0,1,2,3,");
}

TEST(PacedClient, AReaderThatIsTooSlowSlowsTheEngineDown) {
  Config config = ConfigOf("http://127.0.0.1:1");
  config.limits.max_answer_memory = Bytes(1 << 20);
  PacedStream stream(Duration::Seconds(60), config);
  stream.Stick();
  constexpr int kRead = 1000;
  int read = 0;
  Written written = Written::kAll;
  while (written == Written::kAll && read < 100 * kRead) {
    written = stream.Read(read, read + kRead);
    read += kRead;
  }
  ASSERT_EQ(written, Written::kPart) << "an eighth of the budget is one stream's part";
  EXPECT_LT(read * EventOf(read).size(), 256u << 10);
  std::future<bool> room = stream.FinishEvents();
  EXPECT_EQ(stream.reached(), 0) << "the client has taken nothing";
  EXPECT_EQ(room.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  stream.ReadOn();
  ASSERT_EQ(room.wait_for(kPatience), std::future_status::ready);
  EXPECT_TRUE(room.get());
  EXPECT_THAT(stream.Text(), ::testing::EndsWith(absl::StrCat(read - 2, ",", read - 1, ",")));
  EXPECT_EQ(stream.reached(), read);
}

TEST(PacedClient, ACutDropsTheEventsThatTheClientDoesNotTake) {
  for (const bool reads : {true, false}) {
    PacedStream stream(Duration::Seconds(60));
    stream.Tokens(0, 1);
    if (!reads) stream.Stick();
    for (int i = 0; i < 100; ++i) ASSERT_EQ(stream.Read(1 + 1000 * i, 1001 + 1000 * i), Written::kAll);
    std::future<bool> end = stream.End();
    stream.Cut();
    if (!reads) stream.ReadOn();
    ASSERT_EQ(end.wait_for(kPatience), std::future_status::ready);
    EXPECT_TRUE(end.get());
    EXPECT_EQ(stream.cut_short(), !reads);
    EXPECT_EQ(stream.client.ends, reads ? 1 : 0) << "a stream that was cut short ends with an error";
    const ApiError error = CutByShutdown();
    std::future<bool> told = stream.Error(error);
    ASSERT_EQ(told.wait_for(kPatience), std::future_status::ready);
    EXPECT_TRUE(stream.client.failed);
  }
}

TEST(PacedClient, TheEngineIsFreeBeforeItsClientHasAllTokens) {
  Latch first;
  ScriptedEngine engine([&](EngineCall& call) {
    call.BeginStream();
    call.Event(DeltaJson("w0"));
    if (!first.Wait()) return;
    call.Event(DeltaJson("w1"));
    call.Event(FinishJson());
    call.Chunk("data: [DONE]\n\n");
    call.EndStream();
  });
  Config config = ConfigOf(engine.url());
  for (ClassConfig& each : config.classes) {
    each.even_delivery = true;
    each.ttft = Duration::Seconds(60);
    each.tpot = Duration::Seconds(60);
  }
  SessionWorld world(config);
  ASSERT_TRUE(world.WaitUp());
  MemoryClient client;
  std::future<void> ended = world.Begin(client, StreamBody());
  const auto has = [&](const std::string& word) {
    bool found = false;
    world.Call([&] { found = client.text.find(word) != std::string::npos; });
    return found;
  };
  ASSERT_TRUE(Eventually([&] { return has("w0"); }));
  first.Set();
  EXPECT_TRUE(Eventually([&] { return world.book.Of<RequestClosed>().size() == 1; }));
  EXPECT_FALSE(has("w1"));
  world.edge().draining = true;
  ASSERT_EQ(ended.wait_for(kPatience), std::future_status::ready);
  EXPECT_TRUE(has("[DONE]"));
  EXPECT_EQ(client.ends, 1);
}

}  // namespace
}  // namespace penstock
