#include "router/telemetry/names/label_names.h"

#include <utility>

namespace penstock {

LabelNames::Dropped LabelNames::Set(const std::vector<absl::string_view>& names, size_t limit) {
  const absl::flat_hash_set<absl::string_view> wanted(names.begin(), names.end());
  Dropped dropped;
  for (const auto& [name, position] : positions_) {
    if (wanted.contains(name)) continue;
    dropped.names.insert(std::exchange(names_[position], ""));
    dropped.numbers.insert(position);
    free_.push_back(position);
  }
  for (const std::string& name : dropped.names) positions_.erase(name);
  // In their own order: equal calls give equal numbers.
  for (const absl::string_view name : names) {
    // A model of the name "other" shares the series of all that have no name here.
    if (name.empty() || name == names_[kOther] || name == names_[kNone] || positions_.size() >= limit) continue;
    const int next = free_.empty() ? static_cast<int>(names_.size()) : free_.back();
    if (!positions_.try_emplace(name, next).second) continue;
    if (free_.empty()) {
      names_.emplace_back();
    } else {
      free_.pop_back();
    }
    names_[next] = std::string(name);
  }
  return dropped;
}

bool LabelNames::Is(const std::vector<absl::string_view>& names, size_t limit) const {
  size_t found = 0;
  bool fresh = false;
  for (const absl::string_view name : names) {
    if (name.empty() || name == names_[kOther] || name == names_[kNone]) continue;
    if (positions_.contains(name)) {
      ++found;
    } else {
      fresh = true;
    }
  }
  return found == positions_.size() && (!fresh || found >= limit);
}

int LabelNames::Find(absl::string_view name) const {
  if (name.empty()) return kNone;
  const auto found = positions_.find(name);
  return found == positions_.end() ? kOther : found->second;
}

}  // namespace penstock
