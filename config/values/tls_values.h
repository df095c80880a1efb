// TLS towards servers that the router asks. Range, form and effect of each key: config/keys/fleet_keys.h.
#ifndef PENSTOCK_CONFIG_VALUES_TLS_VALUES_H_
#define PENSTOCK_CONFIG_VALUES_TLS_VALUES_H_

#include <string>

namespace penstock {

// A PEM file and its text at the time of reading.
struct PemFile {
  std::string path;  // Empty: none.
  std::string text;
  bool operator==(const PemFile&) const = default;
};

// Verification of an https engine, beyond the defaults.
struct EngineTlsConfig {
  PemFile ca;
  std::string server_name;
  PemFile certificate;
  PemFile key;
  bool operator==(const EngineTlsConfig&) const = default;
};

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_VALUES_TLS_VALUES_H_
