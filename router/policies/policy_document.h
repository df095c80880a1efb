// docs/policies.md, generated from the declarations of the policies. A test fails when the file differs.
#ifndef PENSTOCK_ROUTER_POLICIES_POLICY_DOCUMENT_H_
#define PENSTOCK_ROUTER_POLICIES_POLICY_DOCUMENT_H_

#include <string>

#include "router/policies/kit/policy_declaration.h"

namespace penstock {

// The whole file, in Markdown.
std::string PolicyDocument();

// The default of a setting as `--policy` takes it; `none` for a setting that joins several words.
std::string DefaultText(const PolicySetting& setting);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_POLICY_DOCUMENT_H_
