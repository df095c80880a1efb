// The declarations of the policies that are Penstock's own core: `penstock` with its ablations, and `present_use`.
//
// Rule of `penstock`: ARCHITECTURE.md. `present_use` has Penstock's guards and another memory rule. The memory held at
// present, prompts on their way included, must stay within a share of the pool. Source of both: this project.
#ifndef PENSTOCK_ROUTER_POLICIES_VARIANTS_PENSTOCK_POLICIES_H_
#define PENSTOCK_ROUTER_POLICIES_VARIANTS_PENSTOCK_POLICIES_H_

#include "router/policies/kit/policy_declaration.h"

namespace penstock {

PolicyDeclaration PenstockPolicy();
PolicyDeclaration PresentUsePolicy();

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_VARIANTS_PENSTOCK_POLICIES_H_
