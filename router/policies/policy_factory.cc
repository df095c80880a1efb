#include "router/policies/policy_factory.h"

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "router/policies/registry.h"

namespace penstock {
namespace {

absl::Status Bad(const PolicyDeclaration& policy, absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat(policy.name, ": ", problem));
}

const PolicyDeclaration* Find(absl::string_view name) {
  for (const PolicyDeclaration& policy : AllPolicies()) {
    if (policy.name == name) return &policy;
  }
  return nullptr;
}

absl::Status ReadSetting(absl::string_view text, PolicyChoice* choice, std::vector<bool>* given) {
  const PolicyDeclaration& policy = *choice->policy;
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
  if (parts.size() != 2) return Bad(policy, absl::StrCat("\"", text, "\" is not of the form key=value"));
  const auto known = std::find_if(policy.settings.begin(), policy.settings.end(),
                                  [&](const PolicySetting& setting) { return setting.key == parts[0]; });
  if (known == policy.settings.end()) {
    const std::string keys = absl::StrJoin(
        policy.settings, " ", [](std::string* out, const PolicySetting& setting) { out->append(setting.key); });
    return Bad(policy,
               absl::StrCat("unknown setting \"", parts[0], "\"", keys.empty() ? ", it has none" : ", known: ", keys));
  }
  const size_t position = static_cast<size_t>(known - policy.settings.begin());
  if ((*given)[position]) return Bad(policy, absl::StrCat(known->key, " is given twice"));
  (*given)[position] = true;
  const std::optional<double> value = ReadSettingValue(*known, parts[1]);
  if (!value) return Bad(policy, absl::StrCat(known->key, " must be ", BoundsText(*known), ", not \"", parts[1], "\""));
  choice->values[position] = *value;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PolicyChoice> ParsePolicy(absl::string_view text) {
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  PolicyChoice choice{Find(parts[0]), {}};
  if (choice.policy == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown name \"", parts[0], "\", known: ", absl::StrJoin(KnownPolicyNames(), " ")));
  }
  for (const PolicySetting& setting : choice.policy->settings) choice.values.push_back(setting.default_value);
  if (parts.size() == 1) return choice;
  std::vector<bool> given(choice.values.size());
  for (absl::string_view setting : absl::StrSplit(parts[1], ',')) {
    if (absl::Status read = ReadSetting(setting, &choice, &given); !read.ok()) return read;
  }
  return choice;
}

std::unique_ptr<AdmissionCore> MakePolicy(absl::string_view text, uint64_t seed, std::string* error) {
  const absl::StatusOr<PolicyChoice> choice = ParsePolicy(text);
  if (choice.ok()) return choice->policy->make(*choice, seed);
  if (error != nullptr) *error = std::string(choice.status().message());
  return nullptr;
}

std::vector<std::string> KnownPolicyNames() {
  std::vector<std::string> names;
  for (const PolicyDeclaration& policy : AllPolicies()) names.push_back(policy.name);
  return names;
}

std::vector<std::string> PolicyAlternatives(absl::string_view name) {
  std::vector<std::string> texts;
  const PolicyDeclaration* policy = Find(name);
  if (policy == nullptr) return texts;
  for (const std::string& settings : policy->alternatives) texts.push_back(absl::StrCat(name, ":", settings));
  return texts;
}

}  // namespace penstock
