// A bounded set of label values, each with a number. A number that a name gave back is given again. Not thread-safe.
#ifndef PENSTOCK_ROUTER_TELEMETRY_NAMES_LABEL_NAMES_H_
#define PENSTOCK_ROUTER_TELEMETRY_NAMES_LABEL_NAMES_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"

namespace penstock {

class LabelNames {
 public:
  static constexpr int kOther = 0;  // Every name that is not in the set.
  static constexpr int kNone = 1;   // The empty name.

  LabelNames() : names_{"other", "none"} {}
  // Names that left the set, and the numbers they had. New names may have these numbers now.
  struct Dropped {
    absl::flat_hash_set<std::string> names;
    absl::flat_hash_set<int> numbers;
  };
  // Drops the names that are not among these, then adds those that are new, up to `limit`.
  Dropped Set(const std::vector<absl::string_view>& names, size_t limit);
  // True: Set would change nothing. False where that is not plain.
  bool Is(const std::vector<absl::string_view>& names, size_t limit) const;
  // The number of the name; kOther or kNone where it has none.
  int Find(absl::string_view name) const;
  const std::string& operator[](int position) const { return names_[position]; }

 private:
  std::vector<std::string> names_;  // Empty: the number is free.
  std::vector<int> free_;
  absl::flat_hash_map<std::string, int> positions_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_NAMES_LABEL_NAMES_H_
