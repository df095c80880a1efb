// An unknown model name may still become known; the configuration or another replica decides that.
#include <gtest/gtest.h>

#include <optional>

#include "router/fleet/fleet_book.h"

namespace penstock {
namespace {

Discovery OneModel() {
  Discovery discovery;
  discovery.kind = EngineKind::kVllm;
  discovery.models = {{"m", Tokens(4096)}};
  return discovery;
}

TEST(FleetBook, AnUnknownNameIsDecidedByTheConfigurationOrByAnotherReplica) {
  Config named = *ConfigFromUrls("127.0.0.1:0", {"http://h:1", "http://h:2"});
  for (ReplicaConfig& replica : named.replicas) replica.model = "m";
  FleetBook configured(named);
  EXPECT_FALSE(configured.unheard().decisive);
  FleetBook book(*ConfigFromUrls("127.0.0.1:0", {"http://h:1", "http://h:2"}));
  EXPECT_TRUE(book.SetDiscovery(ReplicaId(1), std::nullopt));
  EXPECT_FALSE(book.SetDiscovery(ReplicaId(1), std::nullopt));
  EXPECT_TRUE(book.unheard().decisive) << "nothing is known";
  book.SetDiscovery(ReplicaId(0), OneModel());
  EXPECT_FALSE(book.unheard().decisive) << "the other one did not answer";
  EXPECT_TRUE(book.unheard().any) << "it may serve the name all the same";
  FleetBook early(*ConfigFromUrls("127.0.0.1:0", {"http://h:1", "http://h:2"}));
  early.SetDiscovery(ReplicaId(0), OneModel());
  EXPECT_TRUE(early.unheard().decisive) << "the other one was not asked yet";
}

}  // namespace
}  // namespace penstock
