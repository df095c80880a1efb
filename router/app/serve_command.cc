// `penstock serve`: the router as a process. SIGHUP reloads, SIGTERM and SIGINT drain, a second one ends at once.
#include <csignal>
#include <ctime>
#include <iostream>
#include <string>

#include "config/config.h"
#include "router/app/commands.h"
#include "router/app/server.h"
#include "router/http/clock.h"

namespace penstock {
namespace {

constexpr long kDrainPollNanoseconds = 10'000'000;

absl::StatusOr<Config> LoadFor(const ServeOptions& options) {
  if (options.config_file.empty()) return ConfigFromUrls(options.listen, options.replicas);
  auto config = LoadConfigFile(options.config_file);
  if (config.ok() && !options.listen.empty()) config->listen = options.listen;
  return config;
}

int Fail(const absl::Status& status) {
  std::cerr << "penstock serve: " << std::string(status.message()) << std::endl;
  return 1;
}

// Signals wait here from before any thread starts, so that none is lost or lands elsewhere.
sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signals;
}

// A bad file changes nothing but the log.
void Reload(const ServeOptions& options, RouterServer& server, Config& config) {
  auto fresh = LoadFor(options);
  if (!fresh.ok()) {
    std::cerr << "penstock serve: the configuration is kept, the new one is bad:\n"
              << std::string(fresh.status().message()) << std::endl;
    server.NoteBadReload();
    return;
  }
  config = *std::move(fresh);
  server.Reload(config);
  std::cerr << "penstock serve: configuration reloaded" << std::endl;
}

// True when everything ended by itself.
bool DrainUntil(RouterServer& server, Duration timeout, const sigset_t& signals) {
  server.BeginDrain();
  const Instant end = Now() + timeout;
  while (server.active_requests() > 0 && Now() < end) {
    const timespec pause{0, kDrainPollNanoseconds};
    const int signal = sigtimedwait(&signals, nullptr, &pause);
    if (signal == SIGTERM || signal == SIGINT) break;
  }
  return server.active_requests() == 0;
}

}  // namespace

int RunServe(const ServeOptions& options) {
  const sigset_t signals = BlockSignals();
  absl::StatusOr<Config> config = LoadFor(options);
  if (!config.ok()) return Fail(config.status());
  for (const std::string& warning : Warnings(*config)) std::cerr << "penstock serve: warning: " << warning << "\n";
  RouterServer::Options server_options;
  server_options.version = PENSTOCK_VERSION;
  auto server = RouterServer::Create(*config, std::move(server_options));
  if (!server.ok()) return Fail(server.status());
  if (const absl::Status started = (*server)->Start(); !started.ok()) return Fail(started);
  std::cerr << "penstock listening on " << (*server)->url() << std::endl;
  int received = 0;
  while (sigwait(&signals, &received) == 0 && received == SIGHUP) Reload(options, **server, *config);
  const bool whole = DrainUntil(**server, config->limits.drain_timeout, signals);
  (*server)->Stop();
  return whole ? 0 : 1;
}

}  // namespace penstock
