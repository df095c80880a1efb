// The parts by which a variant of Penstock's core may differ, by the names in a policy's settings.
//
// Constants; each part changes one option of a PenstockVariant.
#ifndef PENSTOCK_ROUTER_POLICIES_VARIANTS_VARIANT_PARTS_H_
#define PENSTOCK_ROUTER_POLICIES_VARIANTS_VARIANT_PARTS_H_

#include <functional>
#include <map>
#include <string>

#include "router/policies/variants/penstock_variants.h"

namespace penstock {

using VariantParts = std::map<std::string, std::function<void(PenstockVariant&)>>;

// Rules that `without=` leaves out.
const VariantParts& WithoutParts();
// Facts that `true=` tells the core.
const VariantParts& Truths();
// The memory rules of the yardstick. Exact growth never preempts; where streams are far ahead of their due times, rules
// that take a risk deliver more.
const VariantParts& Memories();
// Rules beyond those of the configuration.
const VariantParts& MoreRules();
const VariantParts& Orders();

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_VARIANTS_VARIANT_PARTS_H_
