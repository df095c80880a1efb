// `penstock serve`: the router as a process. SIGHUP and a changed file reload, SIGTERM and SIGINT drain, a second one
// ends at once. Exits with 0 when every request was answered to its end, with 3 when some were cut.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "app/commands.h"
#include "app/load_config.h"
#include "app/process.h"
#include "app/serve/descriptor_limit.h"
#include "app/serve/file_watch.h"
#include "app/serve/server.h"
#include "base/clock.h"
#include "config/config.h"
#include "router/telemetry/log/patient_write.h"

namespace penstock {
namespace {

constexpr Duration kDrainPoll = Duration::Milliseconds(10);
// A change of the files is taken at the second look that finds it.
constexpr Duration kWatchPeriod = Duration::Milliseconds(250);
constexpr int kRequestsWereCut = 3;

// A line on stderr; lost where its reader stands still, so that nothing waits for it.
void Print(const std::string& line) {
  WritePatiently(STDERR_FILENO, line + "\n", [] { return false; });
}
void Notice(const std::string& text) { Print("penstock serve: " + text); }

absl::StatusOr<Config> LoadFor(const ServeOptions& options) {
  LoadOptions load;
  load.policies = CheckOfKnownPolicies();
  load.listen = options.listen;
  auto config = options.config_file.empty() ? ConfigFromUrls(options.listen, options.replicas)
                                            : LoadConfigFile(options.config_file, load);
  if (!config.ok()) return config;
  const std::string notice = FitToDescriptors(RaiseDescriptorLimit(), *config);
  if (!notice.empty()) Notice(notice);
  return config;
}

// The next of the signals; 0 when none came in time.
int WaitSignal(const sigset_t& signals, Duration timeout) {
  const timespec pause{timeout.nanoseconds() / 1'000'000'000, timeout.nanoseconds() % 1'000'000'000};
  return std::max(0, sigtimedwait(&signals, nullptr, &pause));
}

void PrintWarnings(const Config& config) {
  for (const std::string& warning : Warnings(config)) Notice("warning: " + warning);
}

// The configuration that is in force, and how it follows its files.
class LiveConfig {
 public:
  // `watch` knows the files as they were before they were read.
  LiveConfig(const ServeOptions& options, const Config& config, RouterServer& server, FileWatch watch)
      : options_(options), started_with_(config), config_(config), server_(server), watch_(std::move(watch)) {
    watch_.Watch(config_.sources);
  }

  const Config& config() const { return config_; }
  bool FilesChanged() { return watch_.Changed(); }

  // A bad file changes nothing but the log and a metric.
  void Reload() {
    watch_.Remember();
    auto fresh = LoadFor(options_);
    const absl::Status taken = fresh.ok() ? server_.Reload(*fresh) : fresh.status();
    if (!taken.ok()) {
      Notice(absl::StrCat("the configuration is kept, the new one is bad:\n", taken.message()));
      server_.NoteBadReload(taken.message());
      return;
    }
    config_ = *std::move(fresh);
    watch_.Watch(config_.sources);
    PrintWarnings(config_);
    for (const std::string& key : KeysThatNeedRestart(started_with_, config_)) {
      Notice(key + " changed; that needs a restart, the old value stays in force");
    }
    Notice("configuration reloaded");
  }

 private:
  const ServeOptions& options_;
  const Config started_with_;
  Config config_;
  RouterServer& server_;
  FileWatch watch_;
};

// Returns at a signal that ends the router.
void Run(LiveConfig& live, const sigset_t& signals) {
  while (true) {
    const int signal = WaitSignal(signals, kWatchPeriod);
    if (signal == SIGTERM || signal == SIGINT) return;
    if (signal == SIGHUP || (signal == 0 && live.FilesChanged())) live.Reload();
  }
}

// Returns once no request runs, the time is over, or a second signal came.
void DrainUntil(RouterServer& server, Duration timeout, const sigset_t& signals) {
  server.BeginDrain();
  const Instant end = Now() + timeout;
  while (server.active_requests() > 0 && Now() < end) {
    const int signal = WaitSignal(signals, kDrainPoll);
    if (signal == SIGTERM || signal == SIGINT) break;
  }
}

}  // namespace

int RunServe(const ServeOptions& options) {
  const sigset_t signals = BlockSignals({SIGTERM, SIGINT, SIGHUP});
  FileWatch watch(options.config_file.empty() ? std::vector<std::string>() : std::vector{options.config_file});
  absl::StatusOr<Config> config = LoadFor(options);
  if (!config.ok()) return Fail("serve", config.status().message());
  PrintWarnings(*config);
  RouterServer::Options server_options;
  server_options.version = PENSTOCK_VERSION;
  auto server = RouterServer::Create(*config, std::move(server_options));
  if (!server.ok()) return Fail("serve", server.status().message());
  if (const absl::Status started = (*server)->Start(); !started.ok()) return Fail("serve", started.message());
  Print(absl::StrCat("penstock listening on ", (*server)->url()));
  LiveConfig live(options, *config, **server, std::move(watch));
  Run(live, signals);
  Notice(absl::StrCat("draining, ", (*server)->active_requests(), " requests to finish"));
  DrainUntil(**server, live.config().limits.drain_timeout, signals);
  (*server)->Stop();
  const int cut = (*server)->cut_requests();
  if (cut > 0) Notice(absl::StrCat(cut, " requests were cut"));
  return cut > 0 ? kRequestsWereCut : 0;
}

}  // namespace penstock
