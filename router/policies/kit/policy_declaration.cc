#include "router/policies/kit/policy_declaration.h"

#include <cassert>

namespace penstock {

double PolicyChoice::operator[](absl::string_view key) const {
  for (size_t i = 0; i < values.size(); ++i) {
    if (absl::string_view(policy->settings[i].key) == key) return values[i];
  }
  assert(false && "not a setting of this policy");
  return 0;
}

std::vector<std::string> PolicyChoice::Words(absl::string_view key) const {
  for (size_t i = 0; i < values.size(); ++i) {
    if (absl::string_view(policy->settings[i].key) == key) return WordsOf(policy->settings[i], values[i]);
  }
  assert(false && "not a setting of this policy");
  return {};
}

}  // namespace penstock
