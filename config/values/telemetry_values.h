// The settings of the log and of traces. Range, form and effect of each key: config/keys/telemetry_keys.h.
#ifndef PENSTOCK_CONFIG_VALUES_TELEMETRY_VALUES_H_
#define PENSTOCK_CONFIG_VALUES_TELEMETRY_VALUES_H_

#include <map>
#include <string>

#include "base/log_form.h"
#include "base/units.h"

namespace penstock {

struct LogConfig {
  bool all_decisions = false;
  std::string path;  // Empty: stderr.
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kAuto;
  bool access = false;
};

struct TracingConfig {
  std::string endpoint;  // Empty: no traces.
  double sample = 0.01;  // The share of requests whose client made no choice.
  std::map<std::string, std::string> headers;
  std::string service_name = "penstock";
  Duration interval = Duration::Seconds(5);
  bool operator==(const TracingConfig&) const = default;
};

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_VALUES_TELEMETRY_VALUES_H_
