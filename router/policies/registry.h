// The list of all policies that `policy:` and `--policy` can name.
//
// The yardstick `informed` is not in the list: it knows the future and exists in the simulation only.
#ifndef PENSTOCK_ROUTER_POLICIES_REGISTRY_H_
#define PENSTOCK_ROUTER_POLICIES_REGISTRY_H_

#include <vector>

#include "router/policies/kit/policy_declaration.h"

namespace penstock {

// In the order of docs/policies.md, `penstock` first. Addresses stay valid for the life of the program.
const std::vector<PolicyDeclaration>& AllPolicies();

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_REGISTRY_H_
