// The effective configuration as YAML.
#ifndef PENSTOCK_CONFIG_PRINT_PRINT_CONFIG_H_
#define PENSTOCK_CONFIG_PRINT_PRINT_CONFIG_H_

#include <string>
#include <vector>

#include "config/values/config_values.h"

namespace penstock {

// ParseConfig accepts the text and reads the same values, but for secrets: they are replaced by "***".
std::string PrintConfig(const Config& config);

// The keys whose new values a running router cannot take, in the order of the field lists. `running` is the
// configuration of its start.
std::vector<std::string> KeysThatNeedRestart(const Config& running, const Config& fresh);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_PRINT_PRINT_CONFIG_H_
