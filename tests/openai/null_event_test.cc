// Events without content in front of all others. llama-server begins the answer to a list of prompts with null. Azure
// begins each answer with a chunk without a choice.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/openai/relay_for_test.h"

namespace penstock {
namespace {

TEST(NullEvents, AnEventOfNullPassesWithTheFirstThatHasContent) {
  const std::string null = "data: null\n\n";
  Fixture f;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state);
  EXPECT_EQ(relay.Feed(null, kNow), StreamRelay::Result::kGoOn);
  EXPECT_EQ(Joined(relay), "");
  EXPECT_FALSE(relay.any_event());
  EXPECT_EQ(relay.Feed(kWord + null + kStop + kDone, kNow), StreamRelay::Result::kDone);
  EXPECT_EQ(Joined(relay), null + kWord + null + kStop + kDone);
  EXPECT_EQ(f.state.generated(), 1);

  Fixture whole;
  StreamRelay reassembled(Endpoint::kChat, whole.facts, whole.state, /*longest=*/1 << 20);
  EXPECT_EQ(reassembled.Feed(null + kWord + kStop + kDone, kNow), StreamRelay::Result::kDone);
  EXPECT_TRUE(reassembled.Assembled().ok());

  Fixture endless;
  StreamRelay garbage(Endpoint::kChat, endless.facts, endless.state);
  std::string nulls;
  while (nulls.size() < 10'000) nulls += null;
  EXPECT_EQ(garbage.Feed(nulls, kNow), StreamRelay::Result::kMalformed);
}

TEST(ChunksWithoutAChoice, TheyPassWithTheFirstThatHasOne) {
  const std::string empty = "data: {\"id\":\"\",\"model\":\"\",\"choices\":[]}\n\n";
  for (const Endpoint endpoint : {Endpoint::kChat, Endpoint::kCompletions}) {
    Fixture f;
    StreamRelay relay(endpoint, f.facts, f.state);
    EXPECT_EQ(relay.Feed(empty, kNow), StreamRelay::Result::kGoOn);
    EXPECT_EQ(Joined(relay), "");
    EXPECT_FALSE(relay.any_event());
    EXPECT_EQ(relay.Feed(absl::StrCat(kWord, empty, kStop, kDone), kNow), StreamRelay::Result::kDone);
    EXPECT_EQ(Joined(relay), absl::StrCat(empty, kWord, empty, kStop, kDone));

    Fixture nothing;
    StreamRelay bare(endpoint, nothing.facts, nothing.state);
    EXPECT_EQ(bare.Feed(absl::StrCat(empty, kDone), kNow), StreamRelay::Result::kEmpty);
    EXPECT_EQ(Joined(bare), "");
  }
}

TEST(ChunksWithoutAChoice, LongOnesPassAtOnce) {
  const std::string chunk = "data: {\"choices\":[],\"more\":\"" + std::string(10'000, 'x') + "\"}\n\n";
  Fixture f;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state);
  EXPECT_EQ(relay.Feed(chunk, kNow), StreamRelay::Result::kGoOn);
  EXPECT_EQ(Joined(relay), chunk);
}

TEST(ChunksWithoutAChoice, AReassembledAnswerPassesOverThem) {
  const std::string empty = "data: {\"choices\":[]}\n\n";
  Fixture f;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state, /*longest=*/1 << 20);
  EXPECT_EQ(relay.Feed(empty + kWord + kStop + kDone, kNow), StreamRelay::Result::kDone);
  EXPECT_TRUE(relay.Assembled().ok());
}

}  // namespace
}  // namespace penstock
