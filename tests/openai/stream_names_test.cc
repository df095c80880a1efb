// The names and counts of an answer that its engine tells late, or in an event that its client does not get.
#include <gtest/gtest.h>

#include <string>

#include "router/openai/answer/stream_relay.h"
#include "tests/openai/relay_for_test.h"

namespace penstock {
namespace {

constexpr Instant kNamesNow = Instant::FromNanoseconds(1'000);

std::string Event(const std::string& members) { return "data: {\"id\":\"c1\"," + members + "}\n\n"; }
std::string Word(const std::string& more = "") {
  return Event(R"("choices":[{"index":0,"delta":{"content":"word"}}])" + more);
}

const std::string kLast = Event(R"("choices":[{"index":0,"delta":{"content":"end"},"finish_reason":"stop"}])");
const std::string kNamesUsage = Event(
    R"("choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9},"system_fingerprint":"fp-1")");
const std::string kNamesDone = "data: [DONE]\n\n";

struct Asked {
  explicit Asked(bool usage) { facts.asks_usage = usage; }
  std::string Feed(const std::string& bytes) {
    relay.Feed(bytes, kNamesNow);
    std::string all;
    for (absl::string_view piece : relay.pieces()) all.append(piece.data(), piece.size());
    return all;
  }
  RequestFacts facts;
  RelayState state;
  StreamRelay relay{Endpoint::kChat, facts, state};
};

TEST(StreamNames, AFingerprintBesideTheHiddenUsageComesWithTheLastEvent) {
  Asked client(false);
  EXPECT_EQ(client.Feed(Word()), Word());
  EXPECT_EQ(client.Feed(kLast), "");
  EXPECT_EQ(client.relay.counts().in_pieces(), 0);
  EXPECT_EQ(
      client.Feed(kNamesUsage + kNamesDone),
      Event(R"("choices":[{"index":0,"delta":{"content":"end"},"finish_reason":"stop"}],"system_fingerprint":"fp-1")") +
          kNamesDone);
  EXPECT_EQ(client.relay.counts().in_pieces(), 1);
  EXPECT_EQ(client.state.generated(), 2);
}

TEST(StreamNames, AClientThatAskedForUsageGetsTheEventsAsTheyCame) {
  Asked client(true);
  EXPECT_EQ(client.Feed(Word() + kLast + kNamesUsage + kNamesDone), Word() + kLast + kNamesUsage + kNamesDone);
}

TEST(StreamNames, WithoutAFingerprintTheLastEventPassesUnchanged) {
  for (const std::string& end : {kNamesDone, Word() + kNamesDone}) {
    Asked client(false);
    EXPECT_EQ(client.Feed(kLast + end), kLast + end);
  }
  Asked named(false);
  const std::string last =
      Event(R"("choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"system_fingerprint":null)");
  EXPECT_EQ(named.Feed(last), last) << "an engine that names it there is not waited for";
}

TEST(StreamNames, AHeldEventIsNotLostWithItsEngine) {
  Asked client(false);
  EXPECT_EQ(client.Feed(kLast), "");
  EXPECT_TRUE(client.relay.finished());
  client.relay.Flush();
  ASSERT_EQ(client.relay.pieces().size(), 1u);
  EXPECT_EQ(client.relay.pieces()[0], kLast);
  Asked broken(false);
  EXPECT_EQ(broken.Feed(kLast + "data: {\"error\":{\"message\":\"late\"}}\n\n"), kLast);
}

TEST(StreamNames, UsageThatIsToldAllAlongCountsTheTokensOfAResumedAnswer) {
  Asked client(true);
  const std::string so_far = R"(,"usage":{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12})";
  client.Feed(Word() + Word(so_far));
  client.state.delivered = 2;
  client.state.Restart(/*keep_delivered=*/true, /*trimmed=*/false);
  EXPECT_EQ(client.state.carried, 5) << "several tokens came in an event";
  StreamRelay second(Endpoint::kChat, client.facts, client.state);
  second.Feed(Event(R"("choices":[],"usage":{"prompt_tokens":11,"completion_tokens":3,"total_tokens":14})"), kNamesNow);
  EXPECT_EQ(client.state.usage->prompt, Tokens(7)) << "as its first engine told it";
  EXPECT_EQ(client.state.usage->output, Tokens(8));
}

TEST(StreamNames, AnEventOfSeveralLinesThatGoesOnWithAnAnswerHasOne) {
  Fixture f;
  StreamRelay first(Endpoint::kChat, f.facts, f.state);
  first.Feed(kRole + kWord, kNow);
  f.state.delivered = 1;
  f.state.Restart(true, true);
  StreamRelay second(Endpoint::kChat, f.facts, f.state);
  second.Feed(
      "data: {\"id\":\"c9\",\ndata: \"created\":99,\r\ndata: \"choices\":[{\"index\":0,\ndata:\n"
      "data: \"delta\":{\"content\":\"x\"}}]\ndata: }\n\n",
      kNow);
  EXPECT_EQ(Joined(second),
            "data: {\"id\":\"c1\", \"created\":5, \"choices\":[{\"index\":0,  \"delta\":{\"content\":\"x\"}}] }\n\n");
}

TEST(StreamNames, AValueOfSeveralLinesIsKeptOnOne) {
  EXPECT_EQ(ReadChunkNames("{\"model\":[\n1,\r2]}").model, "[ 1, 2]");
}

}  // namespace
}  // namespace penstock
