#include "router/core/learning/firm_demand.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

double Decay(Duration since, double seconds) { return std::exp(-since.seconds() / seconds); }

}  // namespace

void FirmDemand::Sent(ModelId model, Instant now) {
  if (model.value() >= models_.size()) models_.resize(model.value() + 1);
  std::optional<Demand>& demand = models_[model.value()];
  if (!demand) demand = Demand{now, now};
  const Duration since = now - demand->last;
  demand->recent = demand->recent * Decay(since, kBurstSeconds) + 1;
  demand->lasting = demand->lasting * Decay(since, kMeanSeconds) + 1;
  demand->last = now;
}

void FirmDemand::Forget(ModelId model) {
  if (model.value() < models_.size()) models_[model.value()].reset();
}

const FirmDemand::Demand* FirmDemand::Of(ModelId model) const {
  return model.value() < models_.size() && models_[model.value()] ? &*models_[model.value()] : nullptr;
}

bool FirmDemand::Lately(const std::vector<ModelId>& models, Duration within, Instant now) const {
  return std::any_of(models.begin(), models.end(), [&](ModelId model) {
    const Demand* demand = Of(model);
    return demand != nullptr && now - demand->last < within;
  });
}

bool FirmDemand::Demand::Bursts(Instant now) const {
  const double rate = recent * Decay(now - last, kBurstSeconds) / kBurstSeconds;
  const double life = std::max(kYoungSeconds, (now - first).seconds());
  const double mean = lasting * Decay(now - last, kMeanSeconds) / (kMeanSeconds * (1 - std::exp(-life / kMeanSeconds)));
  return rate > kOverMean * mean;
}

bool FirmDemand::Bursts(const std::vector<ModelId>& models, Instant now) const {
  return std::any_of(models.begin(), models.end(), [&](ModelId model) {
    const Demand* demand = Of(model);
    return demand != nullptr && demand->Bursts(now);
  });
}

}  // namespace penstock
