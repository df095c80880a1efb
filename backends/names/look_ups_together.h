// Looks several names up at the same time, for a caller that may block.
#ifndef PENSTOCK_BACKENDS_NAMES_LOOK_UPS_TOGETHER_H_
#define PENSTOCK_BACKENDS_NAMES_LOOK_UPS_TOGETHER_H_

#include <optional>
#include <string>
#include <vector>

#include "backends/names/name_look_ups.h"
#include "base/units.h"

namespace penstock {

// One answer per name, in order. Null: it did not come within `most`, which all names share. A number needs no look-up.
std::vector<std::optional<NameAnswer>> LookUpTogether(const std::vector<std::string>& names, Duration most,
                                                      NameLookUps& look_ups = NameLookUps::OfProcess());

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_NAMES_LOOK_UPS_TOGETHER_H_
