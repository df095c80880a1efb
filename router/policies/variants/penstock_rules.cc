#include "router/policies/variants/penstock_rules.h"

namespace penstock {

PoolPeak PresentUse::BoundWith(const PoolState& pool, const GrowthVector& joining, int /*until*/, Instant now) const {
  const double present = pool.growth().Present(now) + joining.mean[0];
  return {present, 0, present};
}

Instant DensityFirst::Place(const OrderQuestion& question) {
  const double output = question.Output();
  return Instant() + Duration::Seconds(question.WorkPerToken(output));
}

Instant ShortestWorkFirst::Place(const OrderQuestion& question) {
  return Instant() + Duration::Seconds(question.Work(question.Output()));
}

OutputForecaster::Key VariedOutputs::KeyOf(const RequestArrived& arrived) const {
  OutputForecaster::Key key = OutputKnowledge::KeyOf(arrived);
  if (options_.by_tenant) return key;
  key.tenant = TenantId();
  key.shape = 0;
  return key;
}

std::optional<Tokens> VariedOutputs::OutputOf(RequestId request) const {
  if (!options_.output_of) return std::nullopt;
  return options_.output_of(request);
}

}  // namespace penstock
