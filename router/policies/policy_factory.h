// Policies by name, for `policy:` in the configuration and `--policy`. Names and settings: config/policy_catalogue.h.
#ifndef PENSTOCK_ROUTER_POLICIES_POLICY_FACTORY_H_
#define PENSTOCK_ROUTER_POLICIES_POLICY_FACTORY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "router/core/contract/admission_core.h"

namespace penstock {

// `text` is a name or name:key=value,... Null for anything else, and then `error` (if given) says why. `seed` is for
// policies that draw: equal seeds and events give equal actions.
std::unique_ptr<AdmissionCore> MakePolicy(absl::string_view text, uint64_t seed, std::string* error = nullptr);

// Every name that MakePolicy knows, `penstock` first.
const std::vector<std::string>& KnownPolicyNames();

// What to try beside the defaults for a policy's best setting, each as MakePolicy takes it. Empty: it has no settings.
std::vector<std::string> PolicySettings(absl::string_view name);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_POLICY_FACTORY_H_
