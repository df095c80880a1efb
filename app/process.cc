#include "app/process.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <system_error>

#include "base/harmless.h"

namespace penstock {

namespace {

constexpr size_t kLongestMessage = 8'192;
constexpr const char* kNoMemory =
    "no memory is left: the address space (ulimit -v), or the memory of the container, is too small";
constexpr const char* kNoThread =
    "the system gives no thread: the address space (ulimit -v), or the number of threads (ulimit -u), is too small";

// A message may quote a file of anybody.
std::string ForTerminal(absl::string_view message) {
  std::string text = Harmless(message.substr(0, kLongestMessage), "\n\t");
  if (text.size() < message.size()) text += "...";
  return text;
}

bool IsShortage(const std::exception& surprise) {
  const auto* system = dynamic_cast<const std::system_error*>(&surprise);
  return dynamic_cast<const std::bad_alloc*>(&surprise) != nullptr ||
         (system != nullptr && (system->code() == std::errc::resource_unavailable_try_again ||
                                system->code() == std::errc::not_enough_memory));
}

// Memory is short: the line takes none of the heap. One call, so that no other line comes between.
void WriteLine(const char* words) {
  constexpr absl::string_view kBefore = "penstock: ";
  const auto part = [](absl::string_view text) { return iovec{const_cast<char*>(text.data()), text.size()}; };
  const iovec parts[] = {part(kBefore), part(words), part("\n")};
  if (::writev(STDERR_FILENO, parts, 3) < 0) return;
}

[[noreturn]] void EndWithMessage() {
  const std::exception_ptr surprise = std::current_exception();
  if (surprise == nullptr) std::abort();
  try {
    std::rethrow_exception(surprise);
  } catch (const std::bad_alloc&) {
    WriteLine(kNoMemory);
    ::_exit(1);
  } catch (const std::exception& error) {
    const bool short_of = IsShortage(error);
    WriteLine(short_of ? kNoThread : error.what());
    if (short_of) ::_exit(1);
  } catch (...) {
    WriteLine("an unknown exception");
  }
  std::abort();
}

}  // namespace

std::string MessageOf(const std::exception& surprise) {
  if (!IsShortage(surprise)) return surprise.what();
  return dynamic_cast<const std::bad_alloc*>(&surprise) != nullptr ? kNoMemory : kNoThread;
}

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
  std::set_terminate(EndWithMessage);
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
