#include "app/top/live_screen.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "app/top/terminal.h"
#include "base/clock.h"

namespace penstock::top {
namespace {

// An answer on its way is looked for so often.
constexpr Duration kStep = Duration::Milliseconds(20);

// Takes the keys and signals that come within `longest`.
void WaitForPerson(int signals, Duration longest, TopView& view) {
  std::array<pollfd, 2> sources = {pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{signals, POLLIN, 0}};
  const int ready = poll(sources.data(), sources.size(), static_cast<int>(longest.milliseconds()) + 1);
  if (ready <= 0) return;
  if (sources[1].revents != 0) {
    signalfd_siginfo signal{};
    const bool whole = read(signals, &signal, sizeof(signal)) == static_cast<ssize_t>(sizeof(signal));
    if (whole && signal.ssi_signo != static_cast<uint32_t>(SIGWINCH)) view.quit = true;
  }
  if (sources[0].revents != 0) {
    std::array<char, 256> bytes{};
    const ssize_t count = read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count <= 0) view.quit = true;  // The terminal is gone.
    const auto size = static_cast<size_t>(std::max<ssize_t>(0, count));
    for (const std::string& key : KeysOf(absl::string_view(bytes.data(), size))) OnKey(key, view);
  }
}

}  // namespace

void ShowScreen(StateReader& reader, Duration interval, const sigset_t& signals, Instant end) {
  const int signal_file = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  const Terminal terminal;
  TopView view;
  Instant next = Now();
  while (!view.quit && Now() < end) {
    if (Now() >= next) {
      reader.Begin();
      next = Now() + interval;
    }
    reader.Step();
    if (!terminal.Show(Draw(reader.state(), reader.link(), view, terminal.size()))) break;
    const Duration rest = std::max(Duration(), std::min(next, end) - Now());
    WaitForPerson(signal_file, reader.busy() ? std::min(rest, kStep) : rest, view);
  }
  close(signal_file);
}

}  // namespace penstock::top
