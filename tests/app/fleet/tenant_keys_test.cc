// Callers by key, however many keys there are.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>

#include "config/values/key_digest.h"
#include "router/fleet/key_table.h"
#include "router/fleet/tenants.h"

namespace penstock {
namespace {

TEST(TenantKeys, FiftyThousandKeysAreToldApart) {
  constexpr int kTenants = 500;
  constexpr int kKeys = 100;
  Config config;
  for (int i = 0; i < kTenants; ++i) {
    TenantConfig tenant;
    tenant.name = "tenant-" + std::to_string(i);
    for (int k = 0; k < kKeys; ++k) tenant.keys.push_back(KeyDigest(tenant.name + "-" + std::to_string(k)));
    config.tenants.push_back(std::move(tenant));
  }
  const TenantBook book(config);
  for (int i = 0; i < kTenants; ++i) {
    for (int k = 0; k < kKeys; ++k) {
      const std::string key = "Bearer tenant-" + std::to_string(i) + "-" + std::to_string(k);
      ASSERT_EQ(std::get<Caller>(book.Identify({{"authorization", key}})).name, "tenant-" + std::to_string(i));
    }
  }
  EXPECT_TRUE(std::holds_alternative<ApiError>(book.Identify({{"authorization", "Bearer tenant-0-100"}})));
}

// Ids own files, batches and stored answers.
TEST(TenantKeys, NobodyIsAnotherTenantByItsName) {
  Config config;
  config.tenant_header = "x-team";
  const TenantBook open(config);
  const auto of = [](const TenantBook& book, const char* header, const char* value) {
    return std::get<Caller>(book.Identify({{header, value}}));
  };
  const Caller team = of(open, "x-team", "team-a");
  const Caller key = of(open, "authorization", "Bearer team-a");
  TenantConfig tenant;
  tenant.name = "team-a";
  config.tenants.push_back(tenant);
  const Caller configured = of(TenantBook(config), "x-team", "team-a");
  EXPECT_NE(team.tenant, key.tenant);
  EXPECT_NE(team.tenant, configured.tenant);
  EXPECT_NE(key.tenant, configured.tenant);
  EXPECT_EQ(configured.tenant, TenantIdOf("team-a"));
  EXPECT_EQ(of(open, "x-team", "team-a").tenant, team.tenant);
}

TEST(TenantKeys, ANameThatNobodyChecksHasTheMemoryOfItsAddress) {
  Config config;
  config.tenant_header = "x-team";
  TenantConfig tenant;
  tenant.name = "team-a";
  config.tenants.push_back(tenant);
  const TenantBook book(config);
  const auto account = [&book](const char* header, const char* value) {
    return AccountOf(std::get<Caller>(book.Identify({{header, value}})), 7);
  };
  EXPECT_NE(account("x-team", "team-a"), 7u);
  EXPECT_EQ(account("x-team", "team-b"), 7u);
  EXPECT_EQ(account("authorization", "Bearer k"), 7u);
}

struct CountedEqual {
  bool operator()(const std::string& a, const std::string& b) const {
    ++comparisons;
    return a == b;
  }
  static inline int comparisons = 0;
};

TEST(TenantKeys, ALookUpComparesAFewKeysHoweverManyThereAre) {
  constexpr int kKeys = 50'000;
  KeyTable<CountedEqual> table;
  for (int i = 0; i < kKeys; ++i) table.Add(KeyDigest(std::to_string(i)), static_cast<size_t>(i));
  CountedEqual::comparisons = 0;
  for (int i = 0; i < 2 * kKeys; ++i) {
    const size_t* owner = table.Find(KeyDigest(std::to_string(i)));
    ASSERT_EQ(owner != nullptr, i < kKeys);
    if (owner != nullptr) ASSERT_EQ(*owner, static_cast<size_t>(i));
  }
  EXPECT_LT(CountedEqual::comparisons, 4 * kKeys);
}

}  // namespace
}  // namespace penstock
