#include "app/process.h"

#include <iostream>
#include <string>

namespace penstock {

int Fail(absl::string_view command, absl::string_view message) {
  std::cerr << "penstock " << std::string(command) << ": " << std::string(message) << '\n' << std::flush;
  return 1;
}

sigset_t BlockSignals(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return set;
}

}  // namespace penstock
