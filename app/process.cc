#include "app/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <iostream>
#include <string>

#include "absl/strings/ascii.h"

namespace penstock {

namespace {

constexpr size_t kLongestMessage = 8'192;

// A message may quote a file of anybody.
std::string ForTerminal(absl::string_view message) {
  std::string text(message.substr(0, kLongestMessage));
  if (text.size() < message.size()) text += "...";
  for (char& c : text) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c)) && c != '\n' && c != '\t') c = '?';
  }
  return text;
}

}  // namespace

int Fail(absl::string_view command, absl::string_view message) {
  std::cerr << "penstock " << std::string(command) << ": " << ForTerminal(message) << '\n' << std::flush;
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
