// The declaration of one policy: name, settings, row of the documentation, and maker.
//
// Each policy declares itself in its own file; router/policies/registry.cc lists the declarations. The parser, the
// factory, the configuration check, docs/policies.md and `penstock policies` all read the declaration.
// Immutable after start-up; safe from any thread.
#ifndef PENSTOCK_ROUTER_POLICIES_KIT_POLICY_DECLARATION_H_
#define PENSTOCK_ROUTER_POLICIES_KIT_POLICY_DECLARATION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/units.h"
#include "router/core/contract/admission_core.h"
#include "router/policies/kit/policy_setting.h"

namespace penstock {

struct PolicyDeclaration;

// A policy with a value for each of its settings.
struct PolicyChoice {
  const PolicyDeclaration* policy = nullptr;
  std::vector<double> values;  // In the order of policy->settings.

  // The value of a setting; the key must be a key of the policy.
  double operator[](absl::string_view key) const;
  // The words of a setting that joins several.
  std::vector<std::string> Words(absl::string_view key) const;
};

// Why the policy is here: a benchmark compares Penstock with each group.
enum class PolicyOrigin : uint8_t {
  kOwn,       // The product's policy.
  kShipping,  // A published router ships the rule.
  kStudied,   // A paper, an engine's own scheduler or an ablation has the rule.
};

// The text of the policy in docs/policies.md; Markdown, a clause or full sentences as the field says.
struct PolicyText {
  std::string source;   // The public origin of the rule and its defaults. A clause.
  std::string rule;     // A clause.
  std::string sees;     // The inputs of the rule. A clause.
  std::string refuses;  // The refusals beyond the common ones. A clause.
  std::string notes;    // Decisions where the source leaves something open. Full sentences; may be empty.
};

struct PolicyDeclaration {
  // Equal seeds and events give equal actions.
  using Maker = std::unique_ptr<AdmissionCore> (*)(const PolicyChoice& choice, uint64_t seed);

  std::string name;
  PolicyOrigin origin = PolicyOrigin::kShipping;
  std::vector<PolicySetting> settings;
  // `key=value,...`: documented alternatives to the defaults. A benchmark tries each for the row of best settings.
  std::vector<std::string> alternatives;
  // The time between two reports of an engine, by the defaults of the project; where it documents none, Penstock's.
  Duration report_period = Duration::Milliseconds(250);
  PolicyText text;
  Maker make = nullptr;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_KIT_POLICY_DECLARATION_H_
