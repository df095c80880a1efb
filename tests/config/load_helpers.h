// Shorthand of the configuration tests.
#ifndef PENSTOCK_TESTS_CONFIG_LOAD_HELPERS_H_
#define PENSTOCK_TESTS_CONFIG_LOAD_HELPERS_H_

#include <string>

#include "config/config.h"
#include "gtest/gtest.h"

namespace penstock {

inline std::string FindingsOf(const std::string& yaml) {
  return std::string(ParseConfig(yaml, "f.yaml").status().message());
}

inline Config Parsed(const std::string& yaml) {
  const absl::StatusOr<Config> config = ParseConfig(yaml, "f.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *config : Config{};
}

// A file with one replica and `more` at the root.
inline std::string WithReplica(const std::string& more) { return "replicas: [{url: http://h:1}]\n" + more; }

}  // namespace penstock

#endif  // PENSTOCK_TESTS_CONFIG_LOAD_HELPERS_H_
