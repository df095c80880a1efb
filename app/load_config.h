// Loads a configuration file for a command, with the program's policies behind the check of `policy:`.
#ifndef PENSTOCK_APP_LOAD_CONFIG_H_
#define PENSTOCK_APP_LOAD_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "config/config.h"

namespace penstock {

// The names and the parser of router/policies.
PolicyCheck CheckOfKnownPolicies();

// LoadConfigFile with CheckOfKnownPolicies.
absl::StatusOr<Config> LoadCheckedConfig(const std::string& path);

}  // namespace penstock

#endif  // PENSTOCK_APP_LOAD_CONFIG_H_
