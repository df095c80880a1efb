// Warnings of certificates that clients, engines or exporters will not accept. Pure: the time is given.
#ifndef PENSTOCK_CONFIG_CERTIFICATE_WARNINGS_H_
#define PENSTOCK_CONFIG_CERTIFICATE_WARNINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "config/values/config_values.h"

namespace penstock {

// One for each certificate that has expired, is not valid yet, or ends within 14 days of `unix_now`, in seconds.
std::vector<std::string> CertificateWarnings(const Config& config, int64_t unix_now);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_CERTIFICATE_WARNINGS_H_
