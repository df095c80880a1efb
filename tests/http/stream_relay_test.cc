// The pure parts of relaying: what passes, what is hidden, what is learned, how a cut answer goes on.
#include "router/http/stream_relay.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "router/http/chunk_rewrite.h"
#include "router/http/progress_board.h"

namespace penstock {
namespace {

constexpr Instant kNow = Instant::FromNanoseconds(1'000);

std::string Joined(const StreamRelay& relay) {
  std::string all;
  for (absl::string_view piece : relay.pieces()) all.append(piece.data(), piece.size());
  return all;
}

const std::string kRole =
    "data: "
    "{\"id\":\"c1\",\"created\":5,\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
const std::string kWord =
    "data: {\"id\":\"c1\",\"created\":5,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word\"}}]}\n\n";
const std::string kStop =
    "data: {\"id\":\"c1\",\"created\":5,\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const std::string kUsage =
    "data: "
    "{\"id\":\"c1\",\"created\":5,\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2,\"total_"
    "tokens\":9}}\n\n";
const std::string kDone = "data: [DONE]\n\n";

struct Fixture {
  RequestFacts facts;
  RelayState state;
};

TEST(StreamRelay, EventsPassAsTheyCameAndAreCounted) {
  Fixture f;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state, true);
  EXPECT_EQ(relay.Feed(kRole + kWord + kWord, kNow), StreamRelay::Verdict::kGoOn);
  EXPECT_EQ(Joined(relay), kRole + kWord + kWord);
  EXPECT_EQ(relay.pieces().size(), 1u);
  EXPECT_EQ(f.state.generated(), 2);
  EXPECT_EQ(relay.Feed(kStop + kDone, kNow), StreamRelay::Verdict::kDone);
  EXPECT_TRUE(relay.finished());
  EXPECT_EQ(f.state.finish_reason, "stop");
}

TEST(StreamRelay, UsageIsLearnedAndHiddenFromAClientThatDidNotAsk) {
  for (const bool asked : {false, true}) {
    Fixture f;
    f.facts.asks_usage = asked;
    StreamRelay relay(Endpoint::kChat, f.facts, f.state, true);
    relay.Feed(kWord + kStop + kUsage + kDone, kNow);
    EXPECT_EQ(Joined(relay).find("prompt_tokens") != std::string::npos, asked);
    ASSERT_TRUE(f.state.usage.has_value());
    EXPECT_EQ(*f.state.usage, (Usage{Tokens(7), Tokens(2)}));
  }
}

TEST(StreamRelay, CommentsPassOnlyBehindTheFirstEvent) {
  Fixture f;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state, true);
  relay.Feed(":\n\n", kNow);
  EXPECT_EQ(Joined(relay), "");
  relay.Feed(kWord + ":\n\n", kNow);
  EXPECT_EQ(Joined(relay), kWord + ":\n\n");
}

TEST(StreamRelay, AnErrorEventIsNotPassedOn) {
  Fixture f;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state, true);
  const std::string error = "data: {\"error\":{\"code\":500,\"message\":\"boom\",\"type\":\"server_error\"}}\n\n";
  EXPECT_EQ(relay.Feed(kWord + error, kNow), StreamRelay::Verdict::kError);
  EXPECT_EQ(Joined(relay), kWord);
  EXPECT_EQ(relay.error().message, "boom");
}

TEST(StreamRelay, GarbageIsTold) {
  Fixture f;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state, true);
  EXPECT_EQ(relay.Feed("data: <html>\n\n", kNow), StreamRelay::Verdict::kMalformed);
}

TEST(StreamRelay, AReassembledAnswerHasTheWholeText) {
  Fixture f;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state, false);
  relay.Feed(kRole + kWord + kWord + kStop + kUsage + kDone, kNow);
  EXPECT_TRUE(relay.pieces().empty());
  const auto body = relay.Assembled();
  ASSERT_TRUE(body.ok()) << body.status();
  const auto parsed = nlohmann::json::parse(*body);
  EXPECT_EQ(parsed["choices"][0]["message"]["content"], "wordword");
  EXPECT_EQ(parsed["usage"]["completion_tokens"], 2);
}

TEST(StreamRelay, AContinuedAnswerLooksLikeOne) {
  Fixture f;
  f.facts.asks_usage = true;
  f.state.keep_text = true;
  StreamRelay first(Endpoint::kChat, f.facts, f.state, true);
  first.Feed(kRole + kWord + kWord, kNow);
  f.state.delivered = 2;
  EXPECT_EQ(f.state.text, "wordword");
  f.state.Restart(true);
  EXPECT_EQ(f.state.carried, 2);

  StreamRelay second(Endpoint::kChat, f.facts, f.state, true);
  const std::string other_word =
      "data: {\"id\":\"c9\",\"created\":99,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n";
  const std::string other_usage =
      "data: "
      "{\"id\":\"c9\",\"created\":99,\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1,\"total_"
      "tokens\":10}}\n\n";
  second.Feed(kRole + other_word + other_usage + kDone, kNow);
  const std::string all = Joined(second);
  EXPECT_EQ(all.find("c9"), std::string::npos);
  EXPECT_EQ(all.find("assistant"), std::string::npos);
  EXPECT_NE(all.find("\"created\":5"), std::string::npos);
  EXPECT_NE(all.find("{\"prompt_tokens\":7,\"completion_tokens\":3,\"total_tokens\":10}"), std::string::npos) << all;
  EXPECT_EQ(f.state.generated(), 3);
  EXPECT_EQ(f.state.text, "wordwordx");
}

TEST(StreamRelay, StartingAgainForgetsWhatNobodySaw) {
  Fixture f;
  f.state.keep_text = true;
  StreamRelay first(Endpoint::kChat, f.facts, f.state, false);
  first.Feed(kWord, kNow);
  f.state.Restart(false);
  EXPECT_EQ(f.state.generated(), 0);
  EXPECT_EQ(f.state.carried, 0);
  EXPECT_TRUE(f.state.text.empty());
}

TEST(ChunkRewrite, ReasoningCannotBeContinued) {
  const ChunkParts parts = ReadChunk(Endpoint::kChat, "{\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}");
  EXPECT_TRUE(parts.uncontinuable);
}

TEST(ProgressBoard, StreamsThatFollowTheStepsNeedNoCorrection) {
  ProgressBoard board(2);
  RelayCounter a, b;
  a.Count(1, kNow);
  b.Count(1, kNow);
  board.Add(0, a, RequestId(1), ReplicaId(0), 1);
  board.Add(1, b, RequestId(2), ReplicaId(0), 1);
  board.Sample({0});
  a.Count(3, kNow);
  b.Count(2, kNow);
  const auto events = board.Sample({0});
  ASSERT_EQ(events.size(), 1u);
  ASSERT_EQ(events[0].replicas.size(), 1u);
  EXPECT_EQ(events[0].replicas[0].steps, 3);
  EXPECT_EQ(events[0].corrections, (std::vector<StreamTokens>{{RequestId(2), Tokens(3)}}));
  EXPECT_TRUE(board.Sample({0}).empty());
  board.Remove(0, a);
  board.Remove(1, b);
}

TEST(ProgressBoard, AFreshStreamTellsItsOwnCountOnce) {
  ProgressBoard board(1);
  RelayCounter a;
  a.Count(1, kNow);
  board.Add(0, a, RequestId(1), ReplicaId(0), 1);
  const auto events = board.Sample({0});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].corrections, (std::vector<StreamTokens>{{RequestId(1), Tokens(1)}}));
  board.Remove(0, a);
}

TEST(ProgressBoard, ReplicasThatShareAPoolShareAnEvent) {
  ProgressBoard board(1);
  RelayCounter a, b, c;
  board.Add(0, a, RequestId(1), ReplicaId(0), 1);
  board.Add(0, b, RequestId(2), ReplicaId(1), 1);
  board.Add(0, c, RequestId(3), ReplicaId(2), 2);
  board.Sample({1, 1, 2});
  a.Count(1, kNow);
  b.Count(1, kNow);
  c.Count(4, kNow);
  const auto events = board.Sample({1, 1, 2});
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].replicas.size(), 2u);
  EXPECT_EQ(events[1].replicas[0].steps, 2);
  EXPECT_TRUE(events[1].corrections.empty());
  for (RelayCounter* counter : {&a, &b, &c}) board.Remove(0, *counter);
}

}  // namespace
}  // namespace penstock
