// `penstock serve`: the router as a process. SIGHUP and a changed file reload, SIGTERM, SIGINT and SIGQUIT drain, a
// second one cuts the requests, a third one ends at once. Exits with 0 when every request was answered to its end, with
// 3 when some were cut or a part did not end in time.
#include <algorithm>
#include <csignal>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "app/bounded_end.h"
#include "app/commands.h"
#include "app/load_config.h"
#include "app/process.h"
#include "app/serve/descriptor_limit.h"
#include "app/serve/file_watch.h"
#include "app/serve/memory_limit.h"
#include "app/serve/server.h"
#include "app/serve/written_files.h"
#include "base/clock.h"
#include "config/certificate_warnings.h"
#include "config/config.h"
#include "router/telemetry/log/decision_log.h"

namespace penstock {
namespace {

constexpr Duration kDrainPoll = Duration::Milliseconds(10);
// A change of the files is taken at the second look that finds it.
constexpr Duration kWatchPeriod = Duration::Milliseconds(250);
// An orderly end takes RouterServer::kLastWords and some milliseconds, and the works that the job store still has.
constexpr Duration kLongestStop = Duration::Seconds(10);
constexpr Duration kHurriedStop = Duration::Seconds(3);
constexpr int kRequestsWereCut = 3;

std::string Counted(int64_t count, absl::string_view thing) {
  return absl::StrCat(count, " ", thing, count == 1 ? "" : "s");
}

// The notices name the limits that the process does not have room for.
struct Loaded {
  Config config;
  std::vector<std::string> notices;
};

absl::Status SparesFiles(const std::string& log_path, const Config& config) {
  const std::string harm = HarmOfLog(log_path, config);
  return harm.empty() ? absl::OkStatus() : absl::InvalidArgumentError(harm);
}

absl::StatusOr<Loaded> LoadFor(const ServeOptions& options) {
  LoadOptions load;
  load.policies = CheckOfKnownPolicies();
  load.listen = options.listen;
  auto config = options.config_file.empty() ? ConfigFromUrls(options.listen, options.replicas)
                                            : LoadConfigFile(options.config_file, load);
  if (!config.ok()) return config.status();
  if (absl::Status spared = SparesFiles(config->log.path, *config); !spared.ok()) return spared;
  std::vector<std::string> notices = FitToMemory(MemoryOfProcess(), config->limits);
  std::string few = FitToDescriptors(RaiseDescriptorLimit(), *config);
  if (!few.empty()) notices.push_back(std::move(few));
  return Loaded{*std::move(config), std::move(notices)};
}

// A configuration that is taken may deserve warnings.
void NoteWarnings(const Loaded& loaded, DecisionLog& log) {
  for (const std::string& notice : loaded.notices) log.Note(notice, LogLevel::kWarning);
  for (const std::string& warning : Warnings(loaded.config)) log.Note(warning, LogLevel::kWarning);
  for (const std::string& warning : CertificateWarnings(loaded.config, std::time(nullptr))) {
    log.Note(warning, LogLevel::kWarning);
  }
}

// The configuration that is in force, and how it follows its files.
class LiveConfig {
 public:
  // `watch` knows the files as they were before they were read.
  LiveConfig(const ServeOptions& options, const Loaded& loaded, RouterServer& server, FileWatch watch)
      : options_(options),
        started_with_(loaded.config),
        config_(loaded.config),
        notices_(loaded.notices),
        server_(server),
        watch_(std::move(watch)) {
    watch_.Watch(config_.sources);
  }

  const Config& config() const { return config_; }
  bool FilesChanged() { return watch_.Changed(); }

  // A bad file changes nothing but the log and a metric.
  void Reload() {
    watch_.Remember();
    absl::StatusOr<Loaded> fresh = LoadFor(options_);
    const absl::Status taken = fresh.ok() ? Take(fresh->config) : fresh.status();
    if (!taken.ok()) return server_.NoteBadReload(taken.message());
    ForgetToldNotices(*fresh);
    NoteWarnings(*fresh, server_.log());
    config_ = std::move(fresh->config);
    watch_.Watch(config_.sources);
    server_.log().Note("configuration reloaded");
  }

 private:
  // The limits of the process hardly change: a notice comes once.
  void ForgetToldNotices(Loaded& fresh) {
    const std::vector<std::string> told = std::exchange(notices_, fresh.notices);
    std::erase_if(fresh.notices, [&told](const std::string& notice) {
      return std::find(told.begin(), told.end(), notice) != told.end();
    });
  }

  // The log stays where it was opened at the start.
  absl::Status Take(const Config& fresh) {
    absl::Status spared = SparesFiles(started_with_.log.path, fresh);
    return spared.ok() ? server_.Reload(fresh) : spared;
  }

  const ServeOptions& options_;
  const Config started_with_;
  Config config_;
  std::vector<std::string> notices_;
  RouterServer& server_;
  FileWatch watch_;
};

bool IsEnd(int signal) { return signal == SIGTERM || signal == SIGINT || signal == SIGQUIT; }

// Returns at a signal that ends the router.
void Run(LiveConfig& live, const sigset_t& signals) {
  while (true) {
    const int signal = WaitSignal(signals, kWatchPeriod);
    if (IsEnd(signal)) return;
    if (signal == SIGHUP || (signal == 0 && live.FilesChanged())) live.Reload();
  }
}

// Returns once no request runs, the time is over, or a second signal came. True: it came.
bool DrainUntil(RouterServer& server, Duration timeout, const sigset_t& signals) {
  server.BeginDrain();
  const Instant end = Now() + timeout;
  while (server.active_requests() > 0 && Now() < end) {
    const int signal = WaitSignal(signals, kDrainPoll);
    if (IsEnd(signal)) return true;
  }
  return false;
}

// Whatever hangs, the process ends. A third signal leaves it a second.
void StopInTime(RouterServer& server, Duration most, BoundedEnd& end) {
  end.Begin(most, [&server] {
    server.log().Note("the end does not wait any longer for " + server.Awaited(), LogLevel::kError);
    server.log().Flush();
  });
  server.Stop();
}

// Lines on stderr, in the form of the log.
void Say(absl::string_view lines, LogLevel level, LogFormat format) {
  DecisionLog::Options options;
  options.format = format;
  const auto log = DecisionLog::Open(options);
  if (!log.ok()) return;
  for (const absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    (*log)->Note(std::string(line), level);
  }
}

// The router does not start. Its log may be a file that nobody looks at, so stderr has the lines in any case.
int FailStart(RouterServer* server, const LogConfig& log, absl::string_view message) {
  const std::string words = absl::StrCat("the router does not start: ", message);
  if (server != nullptr) server->log().Note(words, LogLevel::kError);
  if (server == nullptr || !log.path.empty()) Say(words, LogLevel::kError, log.format);
  return 1;
}

// A thread or memory that is missing ends the process with a message (PrepareProcess). Rejected: to unwind. The threads
// that run already use what is destroyed then.
absl::Status StartOrEnd(RouterServer& server) noexcept { return server.Start(); }

void NoteStart(RouterServer& server, const Config& config) {
  const std::string listening = absl::StrCat("penstock listening on ", server.url());
  server.log().Note(absl::StrCat("penstock ", PENSTOCK_VERSION, " starts with ",
                                 Counted(static_cast<int64_t>(config.replicas.size()), "replica")));
  server.log().Note(listening);
  if (!server.admin_address().empty()) server.log().Note("admin pages on " + server.admin_address());
  if (!config.log.path.empty()) Say(listening, LogLevel::kInfo, config.log.format);
}

}  // namespace

// SIGUSR1 and SIGUSR2 mean nothing to the router. Blocked, they end neither it nor the commands that it starts.
sigset_t BlockServeSignals() { return BlockSignals({SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2}); }

int RunServe(const ServeOptions& options) {
  const sigset_t signals = BlockServeSignals();
  BoundedEnd end(signals);
  FileWatch watch(options.config_file.empty() ? std::vector<std::string>() : std::vector{options.config_file});
  const absl::StatusOr<Loaded> loaded = LoadFor(options);
  if (!loaded.ok()) return FailStart(nullptr, LogConfig(), loaded.status().message());
  const Config& config = loaded->config;
  GiveMemoryBack(config.threads);
  RouterServer::Options server_options;
  server_options.version = PENSTOCK_VERSION;
  auto made = RouterServer::Create(config, std::move(server_options));
  if (!made.ok()) return FailStart(nullptr, config.log, made.status().message());
  RouterServer& server = **made;
  NoteWarnings(*loaded, server.log());
  if (const absl::Status started = StartOrEnd(server); !started.ok())
    return FailStart(&server, config.log, started.message());
  NoteStart(server, config);
  LiveConfig live(options, *loaded, server, std::move(watch));
  Run(live, signals);
  server.log().Note(absl::StrCat("draining, ", Counted(server.active_requests(), "request"), " to finish"));
  const bool hurry = DrainUntil(server, live.config().limits.drain_timeout, signals);
  StopInTime(server, hurry ? kHurriedStop : kLongestStop, end);
  const int cut = server.cut_requests();
  if (cut > 0)
    server.log().Note(absl::StrCat(Counted(cut, "request"), cut == 1 ? " was cut" : " were cut"), LogLevel::kWarning);
  server.log().Note("penstock ends");
  return cut > 0 ? kRequestsWereCut : 0;
}

}  // namespace penstock
