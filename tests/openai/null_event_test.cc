// Events of null, which llama-server sends first in the answer to a list of prompts.
#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace penstock
