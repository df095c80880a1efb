// The time in which a certificate is valid. Pure.
#ifndef PENSTOCK_CONFIG_VALUES_CERTIFICATE_VALIDITY_H_
#define PENSTOCK_CONFIG_VALUES_CERTIFICATE_VALIDITY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "config/values/tls_values.h"

namespace penstock {

// In seconds since the epoch.
struct CertificateValidity {
  int64_t begins = 0;
  int64_t ends = 0;
};

// The time in which every certificate of the file is valid. Nothing: the file has none.
std::optional<CertificateValidity> ValidityOf(const PemFile& file);
// "Oct 28 13:44:17 2126 GMT".
std::string DateText(int64_t unix_seconds);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_VALUES_CERTIFICATE_VALIDITY_H_
