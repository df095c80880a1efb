// The fairness of the configuration as the core gets it.
#include <gtest/gtest.h>

#include "router/fleet/fleet_book.h"

namespace penstock {
namespace {

Fleet FleetOf(const std::string& keys) {
  const absl::StatusOr<Config> config = ParseConfig("replicas: [{id: a, url: http://h:1}]\n" + keys, "f.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? FleetBook(*config).fleet() : Fleet();
}

TEST(FairnessSettings, TenantsHaveSharesWhereTheConfigurationNamesThem) {
  EXPECT_EQ(FleetOf("").fairness, FairnessSpec());
  EXPECT_EQ(FleetOf("tenants: [{name: t, keys: [k], weight: 2}]\n").fairness.mode, FairnessMode::kLeads);
  EXPECT_EQ(FleetOf("tenant_header: x-team\n").fairness.mode, FairnessMode::kLeads);
  EXPECT_EQ(FleetOf("fairness: none\ntenants: [{name: t, keys: [k]}]\n").fairness.mode, FairnessMode::kNone);
  EXPECT_EQ(FleetOf("fairness: weighted\nfairness_charge: memory\n").fairness,
            (FairnessSpec{FairnessMode::kWeighted, ServiceUnit::kMemory}));
}

TEST(FairnessSettings, AClassIsPromotedAfterHalfOfItsQueueTimeUnlessItSaysOtherwise) {
  const Fleet fleet = FleetOf("classes: {standard: {queue: 30s}, background: {promote_after: 5s, share: 0.2}}\n");
  EXPECT_EQ(fleet.classes[1].promote_after, Duration::Seconds(15));
  EXPECT_EQ(fleet.classes[2].promote_after, Duration::Seconds(5));
  EXPECT_EQ(fleet.classes[2].share, 0.2);
}

}  // namespace
}  // namespace penstock
