// `penstock demo`: simulated engines, the router and live traffic in one process, with a summary on the terminal.
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "app/commands.h"
#include "app/demo/demo_screen.h"
#include "app/demo/demo_stats.h"
#include "app/demo/demo_traffic.h"
#include "app/process.h"
#include "app/serve/server.h"
#include "app/top/live_screen.h"
#include "app/top/state_reader.h"
#include "app/top/terminal.h"
#include "backends/transport/upstream.h"
#include "base/clock.h"
#include "bench/load/load_client.h"
#include "config/config.h"

namespace penstock {
namespace {

// Two GPUs of different kinds, two different models on each. Pools are small, so that bursts fill them. A third model
// on the second GPU is asked for rarely, and sleeps in between.
constexpr char kFleet[] = R"(
gpus:
  - {id: gpu0, kind: a100-80, memory: 80GiB}
  - {id: gpu1, kind: h100, memory: 80GB}
replicas:
  - {id: chat-a, gpus: [gpu0], model: llama-3.1-8b, kv_memory: 4GB, simulated: {}}
  - {id: code-a, gpus: [gpu0], model: qwen2.5-7b, kv_memory: 1GB, simulated: {seed: 2}}
  - {id: chat-b, gpus: [gpu1], model: llama-3.1-8b, kv_memory: 6GB, simulated: {seed: 3}}
  - {id: reason-b, gpus: [gpu1], model: qwen3-8b, kv_memory: 4GB, simulated: {seed: 4}}
  - {id: rare-b, gpus: [gpu1], model: qwen2.5-14b, kv_memory: 3GB, sleep: {after: 4s, wake: 1s}, simulated: {seed: 5}}
classes:
  interactive: {ttft: 1s, tpot: 50ms, queue: 5s}
  standard: {ttft: 2s, tpot: 100ms, queue: 30s, default: true}
  background: {ttft: 1h, tpot: 1s, queue: 24h, evictable: true}
)";
const bench::DemoModels kModels = {"llama-3.1-8b", "qwen2.5-7b", "qwen3-8b", "qwen2.5-14b"};

constexpr Duration kFrame = Duration::Seconds(1);
constexpr Duration kLogLine = Duration::Seconds(5);
constexpr Duration kStartLimit = Duration::Seconds(10);
constexpr Duration kDrainLimit = Duration::Seconds(2);
// Traffic is generated this far ahead and then anew from the next seed.
constexpr Duration kRound = Duration::Seconds(1200);

// True when a signal to end came within `wait`.
bool AskedToEnd(const sigset_t& signals, Duration wait) {
  const timespec pause{wait.nanoseconds() / 1'000'000'000, wait.nanoseconds() % 1'000'000'000};
  const int signal = sigtimedwait(&signals, nullptr, &pause);
  return signal > 0 && signal != SIGWINCH;
}

// The clients, one thread per kind, until they are destroyed.
class Traffic {
 public:
  Traffic(const std::string& url, bench::DemoStats& stats, Instant start) : stats_(stats), start_(start) {
    const size_t kinds = bench::DemoTraffic(kModels, Duration::Seconds(1), 1).size();
    for (size_t kind = 0; kind < kinds; ++kind) threads_.emplace_back([this, url, kind] { Run(url, kind); });
  }
  ~Traffic() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void Run(const std::string& url, size_t kind) {
    for (uint64_t seed = 1; !stop_; ++seed) {
      const bench::DemoStream stream = std::move(bench::DemoTraffic(kModels, kRound, seed)[kind]);
      bench::LoadClientOptions options;
      options.targets = {*bench::ParseLoadTarget(url)};
      options.service_class = stream.service_class;
      options.goals = stream.goals;
      options.seed = seed;
      options.stop = &stop_;
      options.settled = [this](const bench::RequestRecord& record) { stats_.OnSettled(record, Now() - start_); };
      // The only error is a target that cannot be resolved; an address always can.
      if (!bench::RunLoadClient(stream.trace, options).ok()) return;
    }
  }

  bench::DemoStats& stats_;
  const Instant start_;
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

// A URL that clients can connect to: a wildcard address is none.
std::string ReachableUrl(const RouterServer& server) {
  const std::string address = server.address();
  const bool any = address.rfind("0.0.0.0:", 0) == 0 || address.rfind("[::]:", 0) == 0;
  return any ? absl::StrCat("http://127.0.0.1:", server.port()) : server.url();
}

std::string Invitation(const std::string& url) {
  return absl::StrCat(
      "Penstock demo on ", url, "\n  page     ", url, "/\n  metrics  ", url, "/metrics\n  ready    ", url, "/readyz\n",
      "  ask      curl -N ", url, "/v1/chat/completions -H 'Content-Type: application/json' \\\n",
      "             -d '{\"model\":\"", kModels.chat,
      "\",\"stream\":true,\"max_tokens\":60,\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}'\n",
      "  end      Ctrl-C\n");
}

// Until a signal, the time or the person in front of the terminal ends the demo.
void Watch(const RouterServer& server, const bench::DemoStats& stats, const std::string& url, Instant start,
           Instant end, const sigset_t& signals) {
  std::cout << Invitation(url) << std::flush;
  if (const auto address = ParseUpstreamUrl(url); address.ok() && top::OnTerminal()) {
    top::StateReader reader(*address, url, "");
    top::ShowScreen(reader, kFrame, signals, end);
    return;
  }
  for (Instant next = start + kLogLine; Now() < end; next = next + kLogLine) {
    if (AskedToEnd(signals, std::min(next, end) - Now())) return;
    const Duration elapsed = Now() - start;
    std::cout << bench::DemoLine({url, elapsed, server.View(), stats.Snapshot(elapsed)}) << '\n' << std::flush;
  }
}

std::string Farewell(const bench::DemoSnapshot& stats, Duration elapsed) {
  const int64_t ended = std::max<int64_t>(1, stats.Ended());
  return absl::StrFormat(
      "Ended after %.0f s: %d requests, %d finished, %.1f%% on time, %d refused, %d failed, %d tokens.",
      elapsed.seconds(), stats.Ended(), stats.finished,
      100.0 * static_cast<double>(stats.on_time) / static_cast<double>(ended), stats.RefusedCount(), stats.failed,
      stats.tokens);
}

// False when a signal came first, or the engines did not come up.
bool WaitForEngines(const RouterServer& server, size_t replicas, const sigset_t& signals) {
  const Instant limit = Now() + kStartLimit;
  while (server.replicas_up() < static_cast<int>(replicas)) {
    if (Now() > limit || AskedToEnd(signals, Duration::Milliseconds(20))) return false;
  }
  return true;
}

}  // namespace

int RunDemo(const DemoOptions& options) {
  const sigset_t signals = BlockSignals({SIGTERM, SIGINT, SIGWINCH});
  absl::StatusOr<Config> config = ParseConfig(kFleet, "demo fleet");
  if (!config.ok()) return Fail("demo", config.status().message());
  config->listen = options.listen;
  // Decisions would be written across the screen.
  if (isatty(STDERR_FILENO)) config->log.path = "/dev/null";
  RouterServer::Options server_options;
  server_options.version = PENSTOCK_VERSION;
  auto server = RouterServer::Create(*config, std::move(server_options));
  if (!server.ok()) return Fail("demo", server.status().message());
  if (const absl::Status started = (*server)->Start(); !started.ok()) return Fail("demo", started.message());
  if (!WaitForEngines(**server, config->replicas.size(), signals))
    return Fail("demo", "the simulated engines did not come up");

  const Instant start = Now();
  const Instant end = options.duration ? start + *options.duration : Instant::Never();
  const std::string url = ReachableUrl(**server);
  bench::DemoStats stats;
  Duration elapsed;
  {
    const Traffic traffic(url, stats, start);
    Watch(**server, stats, url, start, end, signals);
    elapsed = Now() - start;
  }
  (*server)->Drain(kDrainLimit);
  (*server)->Stop();
  std::cout << Farewell(stats.Snapshot(elapsed), elapsed) << '\n' << std::flush;
  return 0;
}

}  // namespace penstock
