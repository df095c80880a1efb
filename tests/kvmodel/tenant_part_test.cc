#include "kvmodel/output/tenant_part.h"

#include <gtest/gtest.h>

#include "kvmodel/output/output_forecast.h"

namespace penstock {
namespace {

TEST(TenantPart, CountsInFullUntilItIsATenthOfAFullCell) {
  TenantPart part;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(part.WeightAt(0), 1) << i;
    part.Count(part.WeightAt(0), 0);
  }
  part.Count(1, 0);
  EXPECT_LT(part.WeightAt(0), 1);
}

TEST(TenantPart, CountsLessAndLessAfterThat) {
  TenantPart part;
  part.Count(200, 0);
  EXPECT_EQ(part.WeightAt(0), 0.25F);
  part.Count(800, 0);
  EXPECT_EQ(part.WeightAt(0), 0.01F);
}

TEST(TenantPart, HalvesWithTheCell) {
  TenantPart part;
  part.Count(400, 2);
  EXPECT_EQ(part.At(2), 400);
  EXPECT_EQ(part.At(3), 200);
  EXPECT_EQ(part.At(5), 50);
  part.Count(1, 4);
  EXPECT_EQ(part.At(4), 101);
}

constexpr ModelId kModel(1);

void Observe(OutputForecaster& forecaster, uint64_t tenant, int64_t length) {
  const OutputForecaster::Key key{kModel, TenantId(tenant), Tokens(500), Tokens(0), 0};
  forecaster.Advance(key, Tokens(0), Tokens(length));
  forecaster.Finish(key, Tokens(length));
}

// Half of the outputs of a tenant that nobody has seen yet are longer.
double MedianOfANewTenant(OutputForecaster& forecaster) {
  return forecaster.CurveFor({kModel, TenantId(999), Tokens(500), Tokens(0), 0})->Quantile(0.5);
}

TEST(OutputForecaster, NoTenantBecomesTheCurveThatNewTenantsBeginWith) {
  OutputForecaster forecaster;
  for (int round = 0; round < 100; ++round) {
    for (uint64_t tenant = 1; tenant <= 20; ++tenant) Observe(forecaster, tenant, 30);
    for (int i = 0; i < 200; ++i) Observe(forecaster, 50, 3000);
  }
  EXPECT_NEAR(MedianOfANewTenant(forecaster), 30, 3) << "ten of eleven streams are those of one tenant";
}

TEST(OutputForecaster, ATenantAloneTeachesItsModel) {
  OutputForecaster forecaster;
  for (int i = 0; i < 100; ++i) Observe(forecaster, 1, 30);
  EXPECT_NEAR(MedianOfANewTenant(forecaster), 30, 3);
  for (int i = 0; i < 100'000; ++i) Observe(forecaster, 1, 3000);
  EXPECT_NEAR(MedianOfANewTenant(forecaster), 3000, 300) << "slowly";
}

TEST(OutputForecaster, OutputsOfOneTokenCountInTheirTenantsPart) {
  OutputForecaster forecaster;
  for (int round = 0; round < 100; ++round) {
    for (uint64_t tenant = 1; tenant <= 20; ++tenant) Observe(forecaster, tenant, 300);
    for (int i = 0; i < 200; ++i) Observe(forecaster, 50, 1);
  }
  EXPECT_NEAR(MedianOfANewTenant(forecaster), 300, 30);
}

}  // namespace
}  // namespace penstock
