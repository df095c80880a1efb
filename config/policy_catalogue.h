// The policies that `policy:` and `--policy` can name, their settings, and the settings worth trying.
//
// The one list of names: the configuration checks against it and bench/policies makes what it names. A policy is
// written `name` or `name:key=value,key=value`; what is left out has its default. Sources and rules: docs/policies.md.
// Immutable after start-up; safe from any thread.
#ifndef PENSTOCK_CONFIG_POLICY_CATALOGUE_H_
#define PENSTOCK_CONFIG_POLICY_CATALOGUE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

// A number, or one of `words`: then its value is the word's position. With `several`, words joined by +: its value is a
// sum of powers of two, and none the default.
struct PolicySetting {
  std::string key;
  double standard = 0;  // As the policy's project has it.
  double least = 0;
  double most = 0;
  bool whole = false;
  std::vector<std::string> words;
  std::string meaning;
  bool several = false;
};

struct PolicyEntry {
  std::string name;
  std::vector<PolicySetting> settings;
  // `key=value,...`: documented alternatives to the defaults, for a row of best settings.
  std::vector<std::string> alternatives;
};

// `penstock` first.
const std::vector<PolicyEntry>& PolicyCatalogue();

// A policy with a value for each of its settings.
struct PolicyChoice {
  const PolicyEntry* entry = nullptr;
  std::vector<double> values;  // In the order of entry->settings.

  // The key must be one of the entry's.
  double operator[](absl::string_view key) const;
};

// InvalidArgument names what is unknown, given twice or out of range, and what would do.
absl::StatusOr<PolicyChoice> ParsePolicy(absl::string_view text);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_POLICY_CATALOGUE_H_
