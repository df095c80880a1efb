// The output curves of adapters and of their base model.
#include <gtest/gtest.h>

#include "kvmodel/output/output_forecast.h"

namespace penstock {
namespace {

constexpr ModelId kBaseModel(0), kAdapterModel(1);

OutputForecaster::Key KeyOfModel(ModelId model, TenantId tenant = TenantId(1)) {
  OutputForecaster::Key key{model, tenant, Tokens(100), Tokens(0), 0};
  if (model == kAdapterModel) key.base = kBaseModel;
  return key;
}

// Lengths around the median, a tenth of it apart.
void End(OutputForecaster& forecaster, ModelId model, int64_t median) {
  for (int i = 0; i < 1000; ++i) {
    const Tokens length(median * (90 + i % 21) / 100);
    forecaster.Advance(KeyOfModel(model), Tokens(0), length);
    forecaster.Finish(KeyOfModel(model), length);
  }
}

TEST(OutputForecaster, AnAdapterBacksOffToItsBaseAndTeachesIt) {
  OutputForecaster forecaster;
  End(forecaster, kBaseModel, 30);
  EXPECT_NEAR(forecaster.CurveFor(KeyOfModel(kAdapterModel))->Quantile(0.5), 30, 4) << "nothing is known of it";
  End(forecaster, kAdapterModel, 1000);
  EXPECT_NEAR(forecaster.CurveFor(KeyOfModel(kAdapterModel))->Quantile(0.5), 1000, 100);
  EXPECT_NEAR(forecaster.CurveFor(KeyOfModel(kBaseModel))->Quantile(0.5), 30, 4);
  const double stranger = forecaster.CurveFor(KeyOfModel(kBaseModel, TenantId(7)))->At(200);
  EXPECT_GT(stranger, 0.3) << "the base alone would have 0";
}

}  // namespace
}  // namespace penstock
