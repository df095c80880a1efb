#include "kvmodel/output/tenant_shares.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kvmodel/output/output_forecast.h"

namespace penstock {
namespace {

TEST(TenantShares, ALoneTenantWeighsAsATenthOfAFullCell) {
  TenantShares shares;
  EXPECT_EQ(shares.WeightOf(TenantId(1)), 1);
  for (int i = 0; i < 100; ++i) shares.Count(TenantId(1));
  EXPECT_EQ(shares.WeightOf(TenantId(1)), 1);
  for (int i = 0; i < 10'000; ++i) shares.Count(TenantId(1));
  EXPECT_GE(shares.WeightOf(TenantId(1)), 0.1);
  EXPECT_LE(shares.WeightOf(TenantId(1)), 0.2);
}

TEST(TenantShares, TenEqualTenantsCountInFull) {
  TenantShares shares;
  for (uint64_t i = 0; i < 5000; ++i) shares.Count(TenantId(i % 10));
  for (uint64_t tenant = 0; tenant < 10; ++tenant) EXPECT_GT(shares.WeightOf(TenantId(tenant)), 0.9);
}

TEST(TenantShares, AFloodLeavesTheOthersNineTenths) {
  std::mt19937_64 random(5);
  TenantShares shares;
  double flood = 0;
  double others = 0;
  for (int i = 0; i < 20'000; ++i) {
    // One tenant sends nine tenths; twenty others the rest.
    const TenantId tenant(random() % 10 < 9 ? 1 : 2 + random() % 20);
    shares.Count(tenant);
    if (i < 2000) continue;
    (tenant == TenantId(1) ? flood : others) += shares.WeightOf(tenant);
  }
  EXPECT_LT(flood / (flood + others), 0.13);
  EXPECT_GT(flood / (flood + others), 0.05);
}

TEST(TenantShares, TenantsThatAreGoneAreForgotten) {
  TenantShares shares;
  for (uint64_t i = 0; i < 100'000; ++i) shares.Count(TenantId(i));
  EXPECT_LE(shares.tenants(), 2000u);
}

TEST(OutputForecaster, AFloodOfOneTenantDoesNotOwnItsModelsCurve) {
  OutputForecaster forecaster;
  std::mt19937 random(27);
  std::lognormal_distribution<double> lengths(std::log(400), 0.3);
  const auto serve = [&](uint64_t tenant, int64_t length) {
    const OutputForecaster::Key key{ModelId(1), TenantId(tenant), Tokens(100), Tokens(0), 0};
    forecaster.Advance(key, Tokens(0), Tokens(length));
    forecaster.Finish(key, Tokens(length));
  };
  for (uint64_t i = 0; i < 20'000; ++i) {
    if (i % 10 == 0) {
      serve(2 + i / 10 % 20, std::llround(lengths(random)));
    } else {
      serve(1, 2);
    }
  }
  const OutputForecaster::Key newcomer{ModelId(1), TenantId(99), Tokens(100), Tokens(0), 0};
  EXPECT_GT(forecaster.CurveFor(newcomer)->At(100), 0.8) << "nine tenths of all outputs have two tokens";
  EXPECT_NEAR(forecaster.CurveFor(newcomer)->Quantile(0.5), 400, 80);
}

}  // namespace
}  // namespace penstock
