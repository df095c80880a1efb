#include "router/fleet/discovery_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "router/fleet/fleet_book.h"

namespace penstock {
namespace {

TEST(DiscoveryText, TellsTheEngineAndTheLimitsInUse) {
  Config config = *ConfigFromUrls("127.0.0.1:0", {"http://h:1"});
  config.replicas[0].max_seqs = 64;
  FleetBook book(config);
  Discovery discovery;
  discovery.kind = EngineKind::kVllm;
  discovery.models = {{"m", Tokens(4096)}, {"adapter", Tokens(4096)}};
  discovery.kv_tokens = Tokens(8192);
  discovery.block = Tokens(16);
  discovery.version = "0.32.0";
  book.SetDiscovery(ReplicaId(0), discovery);
  EXPECT_EQ(DiscoveryText(*book.known(ReplicaId(0)).discovery, book.fleet().replicas[0]),
            "engine is vllm 0.32.0 with model m, adapter: context 4096 tokens, KV memory 8192 tokens in blocks of 16, "
            "at most 64 sequences, steps of 2048 tokens");
}

TEST(DiscoveryText, AnEngineThatGivesNoReportHasAReason) {
  EXPECT_EQ(WhyUnreached(absl::UnavailableError("refused")), "refused");
  EXPECT_THAT(WhyUnreached(absl::UnauthenticatedError("401")), ::testing::EndsWith("is missing or wrong"));
  EXPECT_THAT(WhyUnreached(absl::NotFoundError("404")), ::testing::HasSubstr("`engine` or the path of `url`"));
}

TEST(DiscoveryText, LeavesOutUnknownLimits) {
  FleetBook book(*ConfigFromUrls("127.0.0.1:0", {"http://h:1"}));
  Discovery discovery;
  discovery.models = {{"m", Tokens(0)}};
  book.SetDiscovery(ReplicaId(0), discovery);
  EXPECT_EQ(DiscoveryText(discovery, book.fleet().replicas[0]),
            "engine is openai with model m: at most 256 sequences, steps of 2048 tokens");
}

}  // namespace
}  // namespace penstock
