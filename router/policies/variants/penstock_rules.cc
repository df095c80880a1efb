#include "router/policies/variants/penstock_rules.h"

#include <utility>

namespace penstock {

PoolPeak PresentUse::BoundWith(const PoolState& pool, const GrowthVector& joining, Instant now) const {
  return {pool.growth().Present(now) + joining.mean[0], 0};
}

Instant DensityFirst::Place(const OrderQuestion& question) {
  const double output = question.Output();
  return Instant() + Duration::Seconds(question.WorkPerToken(output));
}

Instant ShortestWorkFirst::Place(const OrderQuestion& question) {
  return Instant() + Duration::Seconds(question.Work(question.Output()));
}

VariedOutputs::VariedOutputs(bool by_tenant, std::function<Tokens(RequestId)> output_of, bool in_growth)
    : by_tenant_(by_tenant), output_of_(std::move(output_of)), in_growth_(in_growth) {}

OutputForecaster::Key VariedOutputs::KeyOf(const RequestArrived& arrived) const {
  OutputForecaster::Key key = OutputKnowledge::KeyOf(arrived);
  if (!by_tenant_) key.tenant = TenantId();
  return key;
}

std::optional<Tokens> VariedOutputs::OutputOf(RequestId request) const {
  if (!output_of_) return std::nullopt;
  return output_of_(request);
}

}  // namespace penstock
