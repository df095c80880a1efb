// Policies by name, for `policy:` in the configuration and `--policy`.
#ifndef PENSTOCK_BENCH_POLICIES_POLICY_FACTORY_H_
#define PENSTOCK_BENCH_POLICIES_POLICY_FACTORY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "router/core/admission_core.h"

namespace penstock {

// Null for an unknown name. `seed` is for policies that draw; none of the present ones does.
std::unique_ptr<AdmissionCore> MakePolicy(absl::string_view name, uint64_t seed);

// Every name that MakePolicy knows, `penstock` first.
const std::vector<std::string>& KnownPolicyNames();

}  // namespace penstock

#endif  // PENSTOCK_BENCH_POLICIES_POLICY_FACTORY_H_
