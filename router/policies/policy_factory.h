// Policies by text, for `policy:` in the configuration and `--policy`.
//
// The text is `name` or `name:key=value,key=value`. A setting that the text omits has its default.
// Names, settings and bounds: docs/policies.md. Safe from any thread.
#ifndef PENSTOCK_ROUTER_POLICIES_POLICY_FACTORY_H_
#define PENSTOCK_ROUTER_POLICIES_POLICY_FACTORY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "router/policies/kit/policy_declaration.h"

namespace penstock {

// InvalidArgument names the part that is unknown, given twice or out of range, and the valid values.
absl::StatusOr<PolicyChoice> ParsePolicy(absl::string_view text);

// Null where the text is invalid; `error` (if given) then says why. Policies that draw at random use `seed`: equal
// seeds and events give equal actions.
std::unique_ptr<AdmissionCore> MakePolicy(absl::string_view text, uint64_t seed, std::string* error = nullptr);

// The names of all policies, `penstock` first.
std::vector<std::string> KnownPolicyNames();

// The documented alternatives of a policy, each as text for MakePolicy. Empty: it has none, or the name is unknown.
std::vector<std::string> PolicyAlternatives(absl::string_view name);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_POLICY_FACTORY_H_
