// Events that are too long for the turn of a loop: the relay gives them away unread, and goes on behind them.
#include "router/openai/answer/long_event.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/openai/relay_for_test.h"

namespace penstock {
namespace {

using Result = StreamRelay::Result;

const std::string kText(SseSplitter::kLong, 'x');

std::string LongEventWith(absl::string_view lines_before = "") {
  return absl::StrCat(lines_before, R"(data: {"id":"c1","created":5,"choices":[{"index":0,"delta":{"content":")", kText,
                      "\"}}]}\n\n");
}

// Feeds the bytes, reads each long event, and returns all pieces. `longs`: the long events.
std::string Relayed(StreamRelay& relay, absl::string_view bytes, Result* result, int* longs) {
  *result = relay.Feed(bytes, kNow);
  *longs = 0;
  std::string all = Joined(relay);
  while (*result == Result::kLong) {
    ++*longs;
    std::unique_ptr<LongEvent> event = relay.TakeLong();
    event->Read();
    *result = relay.Resume(std::move(event), kNow);
    all += Joined(relay);
  }
  return all;
}

TEST(LongEvent, ItPassesBetweenItsNeighboursAndIsCounted) {
  Fixture f;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state);
  Result result;
  int longs = 0;
  const std::string stream = kRole + kWord + LongEventWith() + kWord + LongEventWith() + kStop + kDone;
  const std::string before_usage = Relayed(relay, stream, &result, &longs);
  EXPECT_EQ(result, Result::kDone);
  EXPECT_EQ(longs, 2);
  EXPECT_EQ(before_usage, stream);
  EXPECT_EQ(f.state.generated(), 4);
  EXPECT_EQ(f.state.text.text(), absl::StrCat("word", kText, "word", kText));
}

TEST(LongEvent, WhatCameBeforeItIsThereAtOnce) {
  Fixture f;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state);
  EXPECT_EQ(relay.Feed(kRole + kWord + LongEventWith(), kNow), Result::kLong);
  EXPECT_EQ(Joined(relay), kRole + kWord);
  EXPECT_EQ(relay.counts().in_pieces(), 1);
}

TEST(LongEvent, OwnedBytesPassWithoutACopy) {
  Fixture f;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state);
  std::string stream = LongEventWith() + kStop;
  const char* const at = stream.data();
  EXPECT_EQ(relay.FeedOwned(std::move(stream), kNow), Result::kLong);
  std::unique_ptr<LongEvent> event = relay.TakeLong();
  event->Read();
  EXPECT_EQ(relay.Resume(std::move(event), kNow), Result::kGoOn);
  ASSERT_EQ(relay.pieces().size(), 1u);
  EXPECT_EQ(relay.pieces()[0].data(), at);
  relay.Flush();
  EXPECT_EQ(Joined(relay), kStop);
}

TEST(LongEvent, ItMayHaveSeveralLines) {
  Fixture f;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state);
  Result result;
  int longs = 0;
  const std::string event = LongEventWith(": comment\nevent: chunk\ndata: \n");
  EXPECT_EQ(Relayed(relay, event, &result, &longs), event);
  EXPECT_EQ(longs, 1);
  EXPECT_EQ(f.state.text.text(), kText);
}

TEST(LongEvent, AFirstOneHasTheNamesOfTheAnswer) {
  Fixture f;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state);
  Result result;
  int longs = 0;
  Relayed(relay, LongEventWith(), &result, &longs);
  ASSERT_TRUE(f.state.shown.names);
  EXPECT_EQ(f.state.shown.names->id, "\"c1\"");
}

TEST(LongEvent, OneThatIsNoJsonIsNamed) {
  for (const std::string& bad : {absl::StrCat("data: {", kText, "\n\n"), absl::StrCat("data: ", kText, "\n\n")}) {
    Fixture f;
    StreamRelay relay(Endpoint::kChat, f.facts, f.state);
    Result result;
    int longs = 0;
    EXPECT_EQ(Relayed(relay, kWord + bad + kWord, &result, &longs), kWord);
    EXPECT_EQ(result, Result::kMalformed);
  }
}

TEST(LongEvent, OneThatIsAnErrorIsTheEngines) {
  Fixture f;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state);
  Result result;
  int longs = 0;
  const std::string error = absl::StrCat(R"(data: {"error":{"message":"no","code":500,"more":")", kText, "\"}}\n\n");
  EXPECT_EQ(Relayed(relay, kWord + error, &result, &longs), kWord);
  EXPECT_EQ(result, Result::kError);
  EXPECT_EQ(relay.error().message, "no");
}

TEST(LongEvent, OneBehindTheEndIsPassedOver) {
  Fixture f;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state);
  EXPECT_EQ(relay.Feed(kWord + kDone + LongEventWith(), kNow), Result::kDone);
}

TEST(LongEvent, AReassembledAnswerHasItsText) {
  for (const size_t longest : {size_t{1} << 20, size_t{1000}}) {
    Fixture f;
    StreamRelay relay(Endpoint::kChat, f.facts, f.state, longest);
    Result result;
    int longs = 0;
    const std::string stream = kRole + kWord + LongEventWith() + kWord + kStop + kUsage + kDone;
    EXPECT_EQ(Relayed(relay, stream, &result, &longs), "");
    if (longest == 1000) {
      EXPECT_EQ(result, Result::kTooLong);
      continue;
    }
    std::string body;
    auto answer = relay.Assembled();
    ASSERT_TRUE(answer.ok());
    while (answer->Write(1 << 20, &body)) {
    }
    EXPECT_EQ(nlohmann::json::parse(body)["choices"][0]["message"]["content"], absl::StrCat("word", kText, "word"));
  }
}

}  // namespace
}  // namespace penstock
