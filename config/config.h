// The configuration: read, check and print.
//
// LoadConfigFile reads YAML strictly and returns a Config with defaults filled in. Unknown keys, missing units, values
// out of range, duplicates and impossible fleets are errors. A Config is an immutable snapshot; a reload makes a new
// one. Secrets come from the environment (${NAME}) or from files (file:PATH) and are never printed.
#ifndef PENSTOCK_CONFIG_CONFIG_H_
#define PENSTOCK_CONFIG_CONFIG_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "config/print/print_config.h"  // IWYU pragma: export
#include "config/read/policy_check.h"
#include "config/reference/reference.h"   // IWYU pragma: export
#include "config/values/config_values.h"  // IWYU pragma: export

namespace penstock {

// The needs of a command.
struct LoadOptions {
  bool need_replicas = true;
  PolicyCheck policies = {};  // Left out: any policy is accepted.
  std::string listen = {};    // Stands in for listen of the file. Empty: that holds.
};

// Errors are one line per finding: "file:line:column: key: what is wrong and the bound". Paths in the file are relative
// to its folder.
absl::StatusOr<Config> LoadConfigFile(const std::string& path, const LoadOptions& options = {});
// The same for a text; `file` names it in findings.
absl::StatusOr<Config> ParseConfig(absl::string_view yaml, const std::string& file, const LoadOptions& options = {});
// The configuration of `serve --listen A --replica URL...`.
absl::StatusOr<Config> ConfigFromUrls(const std::string& listen, const std::vector<std::string>& urls);

// Findings that do not stop a start: reserves, unused entries, keys without effect.
std::vector<std::string> Warnings(const Config& config);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_CONFIG_H_
