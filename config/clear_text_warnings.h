// Secrets that leave this machine in the clear.
//
// A key for an engine or an exporter, and the headers for the collector of traces, go over plain HTTP to another host.
// Pure.
#ifndef PENSTOCK_CONFIG_CLEAR_TEXT_WARNINGS_H_
#define PENSTOCK_CONFIG_CLEAR_TEXT_WARNINGS_H_

#include <string>
#include <vector>

#include "config/config.h"

namespace penstock {

// One text per address that gets a secret.
std::vector<std::string> ClearTextWarnings(const Config& config);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_CLEAR_TEXT_WARNINGS_H_
