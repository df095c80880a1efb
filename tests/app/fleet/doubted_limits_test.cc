// Limits of an engine that fell: the figures from before count for what may be refused, until they are sure.
#include <gtest/gtest.h>

#include "config/config.h"
#include "router/fleet/fleet_book.h"

namespace penstock {
namespace {

Discovery Engine(int64_t context, int64_t kv_tokens) {
  Discovery found;
  found.kind = EngineKind::kVllm;
  found.models = {{"m", Tokens(context)}};
  found.kv_tokens = Tokens(kv_tokens);
  found.block = Tokens(16);
  return found;
}

class DoubtedLimits : public ::testing::Test {
 protected:
  const ReplicaSpec& After(int64_t context, int64_t kv_tokens) {
    book_.SetDiscovery(ReplicaId(0), Engine(context, kv_tokens));
    return book_.fleet().replicas[0];
  }
  bool Doubted() const { return book_.entry(ReplicaId(0)).doubted.has_value(); }

  FleetBook book_{*ParseConfig("replicas: [{id: a, url: http://h:1}]", "f.yaml")};
};

TEST_F(DoubtedLimits, AFallCountsAtOnceAndIsInDoubtUntilTheSameIsReadAgain) {
  EXPECT_EQ(After(8192, 16'000).doubted_prompt, Tokens(0));
  const ReplicaSpec fell = After(1024, 16'000);
  EXPECT_TRUE(Doubted());
  EXPECT_EQ(fell.max_context, Tokens(1024));
  EXPECT_EQ(fell.doubted_context, Tokens(8192));
  EXPECT_EQ(fell.doubted_prompt, Tokens(8191));
  EXPECT_EQ(After(1024, 16'000).doubted_prompt, Tokens(0));
  EXPECT_FALSE(Doubted());
}

TEST_F(DoubtedLimits, APoolThatFellBoundsThePromptThatIsPossible) {
  After(8192, 4800);
  EXPECT_EQ(After(8192, 160).doubted_prompt, Tokens(4800));
}

TEST_F(DoubtedLimits, TheOldLimitsEndTheDoubt) {
  After(8192, 16'000);
  After(1024, 16'000);
  EXPECT_EQ(After(8192, 16'000).doubted_prompt, Tokens(0));
  EXPECT_FALSE(Doubted());
}

TEST_F(DoubtedLimits, AnotherFallIsADoubtOfItsOwnAboutTheFirstLimits) {
  After(8192, 16'000);
  After(1024, 16'000);
  EXPECT_EQ(After(512, 16'000).doubted_context, Tokens(8192));
  EXPECT_EQ(After(512, 16'000).doubted_context, Tokens(0));
}

TEST_F(DoubtedLimits, AReplicaThatLeftHasNone) {
  After(8192, 16'000);
  After(1024, 16'000);
  book_.Update(*ParseConfig("replicas: [{id: b, url: http://h:2}]", "f.yaml"));
  EXPECT_FALSE(Doubted());
}

}  // namespace
}  // namespace penstock
