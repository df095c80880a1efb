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
