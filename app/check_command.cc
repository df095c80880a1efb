#include <iostream>

#include "app/commands.h"
#include "app/load_config.h"
#include "config/config.h"

namespace penstock {

int RunCheck(const std::string& config_file) {
  const absl::StatusOr<Config> config = LoadCheckedConfig(config_file);
  if (!config.ok()) {
    std::cerr << config.status().message() << "\n";
    return 1;
  }
  for (const std::string& warning : Warnings(*config)) std::cerr << config_file << ": warning: " << warning << "\n";
  std::cout << PrintConfig(*config) << std::flush;
  return std::cout ? 0 : 1;
}

int RunVersion() {
  std::cout << "penstock " << PENSTOCK_VERSION << std::endl;
  return std::cout ? 0 : 1;
}

}  // namespace penstock
