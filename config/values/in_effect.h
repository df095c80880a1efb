// Values that a configuration leaves out and that follow from others.
#ifndef PENSTOCK_CONFIG_VALUES_IN_EFFECT_H_
#define PENSTOCK_CONFIG_VALUES_IN_EFFECT_H_

#include <string>
#include <utility>

#include "base/units.h"
#include "config/values/config_values.h"

namespace penstock {

// A `fairness` that is left out is `leads` if the configuration names tenants.
inline std::string FairnessInEffect(const Config& config) {
  const bool named = !config.tenants.empty() || !config.tenant_header.empty();
  return config.fairness.value_or(named ? "leads" : "none");
}

inline Duration PromoteAfterInEffect(const ClassConfig& each) {
  return each.promote_after.value_or(Duration::Seconds(each.queue.seconds() / 2));
}

// The same configuration with these values.
inline Config InEffect(Config config) {
  config.fairness = FairnessInEffect(config);
  for (ClassConfig& each : config.classes) each.promote_after = PromoteAfterInEffect(each);
  return config;
}

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_VALUES_IN_EFFECT_H_
