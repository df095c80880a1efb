// A configuration while it is read: values beside their places in the file. Private to config/.
#ifndef PENSTOCK_CONFIG_READ_DRAFT_H_
#define PENSTOCK_CONFIG_READ_DRAFT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "config/read/map_reader.h"
#include "config/read/policy_check.h"
#include "config/values/config_values.h"

namespace penstock {

struct Draft {
  Config config;
  MapReader root;
  std::map<std::string, std::vector<MapReader>> lists;  // The elements of each list of sections, by the list's path.
  std::string folder;  // Base of the relative paths of PEM, secret and shape files; empty: the working directory.
  PolicyCheck policies;

  // Place of element `index` of a list at the root ("replicas").
  const MapReader& At(absl::string_view list, size_t index) const { return lists.at(std::string(list))[index]; }
  // Reads a file that the configuration names, and adds it to the sources.
  absl::StatusOr<std::string> ReadNamedFile(const std::string& path, size_t limit);
};

// Reads every section of the root into draft.config: values and ranges only.
void ReadSections(Draft& draft);

// Checks that need several values: references, duplicates, impossible fleets.
void CheckFleet(const Draft& draft, bool need_replicas);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_READ_DRAFT_H_
