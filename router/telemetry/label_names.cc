#include "router/telemetry/label_names.h"

namespace penstock {

void LabelNames::Add(const std::string& name, size_t limit) {
  if (name.empty() || names_.size() >= limit + 2) return;
  if (positions_.try_emplace(name, static_cast<int>(names_.size())).second) names_.push_back(name);
}

int LabelNames::Find(absl::string_view name) const {
  if (name.empty()) return kNone;
  const auto found = positions_.find(name);
  return found == positions_.end() ? kOther : found->second;
}

}  // namespace penstock
