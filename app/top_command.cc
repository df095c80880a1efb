// `penstock top`: the page of a router in a terminal, or as plain lines where the output is none.
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "app/commands.h"
#include "app/process.h"
#include "app/top/live_screen.h"
#include "app/top/state_reader.h"
#include "app/top/terminal.h"
#include "app/top/top_screen.h"
#include "backends/socket/tls.h"
#include "backends/transport/upstream.h"

namespace penstock {
namespace {

constexpr uintmax_t kLargestAuthorities = 4 << 20;

int PrintLines(top::StateReader& reader, const TopOptions& options, const sigset_t& signals) {
  for (int64_t printed = 0; options.count == 0 || printed < options.count; ++printed) {
    if (printed > 0) {
      const timespec pause{options.interval.nanoseconds() / 1'000'000'000,
                           options.interval.nanoseconds() % 1'000'000'000};
      const int signal = sigtimedwait(&signals, nullptr, &pause);
      if (signal > 0 && signal != SIGWINCH) break;
    }
    reader.Read();
    const top::Link& link = reader.link();
    if (!link.error.empty() && link.age < 0) return Fail("top", absl::StrCat(link.url, ": ", link.error));
    std::cout << (link.error.empty() ? top::PlainLine(reader.state()) : absl::StrCat("lost: ", link.error)) << '\n'
              << std::flush;
    if (!std::cout.good()) return 1;
  }
  return 0;
}

absl::StatusOr<TlsContext::Pointer> Trust(const UpstreamAddress& address, const std::string& file) {
  if (!address.tls) return nullptr;
  std::string authorities;
  if (!file.empty()) {
    std::error_code unknown;
    if (!std::filesystem::is_regular_file(file, unknown) ||
        std::filesystem::file_size(file, unknown) > kLargestAuthorities) {
      return absl::InvalidArgumentError(file + ": is no file of at most 4 MiB");
    }
    std::ifstream in(file, std::ios::binary);
    authorities.assign(std::istreambuf_iterator<char>(in), {});
    if (authorities.empty()) return absl::InvalidArgumentError(file + ": cannot be read, or is empty");
  }
  absl::StatusOr<TlsContext::Pointer> context = TlsContext::ForClient(authorities, TlsIdentity());
  if (!context.ok()) return absl::InvalidArgumentError(absl::StrCat(file, ": ", context.status().message()));
  return context;
}

}  // namespace

int RunTop(const TopOptions& options) {
  const sigset_t signals = BlockSignals({SIGTERM, SIGINT, SIGHUP, SIGWINCH});
  const absl::StatusOr<UpstreamAddress> address = ParseUpstreamUrl(options.url);
  if (!address.ok()) return Fail("top", address.status().message());
  std::string key = options.key;
  if (const char* given = std::getenv("PENSTOCK_ADMIN_KEY"); key.empty() && given != nullptr) key = given;
  absl::StatusOr<TlsContext::Pointer> tls = Trust(*address, options.ca);
  if (!tls.ok()) return Fail("top", tls.status().message());
  top::StateReader reader(*address, options.url, key, *std::move(tls));
  if (options.count > 0 || !top::OnTerminal()) return PrintLines(reader, options, signals);
  top::ShowScreen(reader, options.interval, signals);
  return 0;
}

}  // namespace penstock
