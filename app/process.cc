#include "app/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <iostream>
#include <string>

namespace penstock {

int Fail(absl::string_view command, absl::string_view message) {
  std::cerr << "penstock " << std::string(command) << ": " << std::string(message) << '\n' << std::flush;
  return 1;
}

void PrepareProcess() {
  // The system gives the lowest free number, so the first one above stderr ends it.
  int descriptor = 0;
  while (descriptor >= 0 && descriptor <= STDERR_FILENO) descriptor = ::open("/dev/null", O_RDWR);
  if (descriptor > STDERR_FILENO) ::close(descriptor);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

sigset_t BlockSignals(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return set;
}

int WaitSignal(const sigset_t& signals, Duration timeout) {
  const timespec pause{timeout.nanoseconds() / 1'000'000'000, timeout.nanoseconds() % 1'000'000'000};
  return std::max(0, sigtimedwait(&signals, nullptr, &pause));
}

}  // namespace penstock
