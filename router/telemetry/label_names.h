// A growing, bounded set of label values, each with a number. Not thread-safe.
#ifndef PENSTOCK_ROUTER_TELEMETRY_LABEL_NAMES_H_
#define PENSTOCK_ROUTER_TELEMETRY_LABEL_NAMES_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace penstock {

class LabelNames {
 public:
  static constexpr int kOther = 0;  // Every name that is not in the set.
  static constexpr int kNone = 1;   // The empty name.

  LabelNames() : names_{"other", "none"} {}
  // Adds the name unless it is empty or the set has `limit` names.
  void Add(const std::string& name, size_t limit);
  // The number of the name; kOther or kNone where it has none.
  int Find(absl::string_view name) const;
  const std::string& operator[](int position) const { return names_[position]; }

 private:
  std::vector<std::string> names_;
  absl::flat_hash_map<std::string, int> positions_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_LABEL_NAMES_H_
