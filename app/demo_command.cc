// `penstock demo`: simulated engines, the router and live traffic in one process, with a summary on the terminal.
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "app/commands.h"
#include "app/demo/demo_contest.h"
#include "app/demo/demo_screen.h"
#include "app/process.h"
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

// The value of --beside for no second fleet.
constexpr absl::string_view kNobody = "none";
constexpr Duration kFrame = Duration::Seconds(1);
constexpr Duration kLogLine = Duration::Seconds(5);
constexpr Duration kStartLimit = Duration::Seconds(10);
constexpr Duration kDrainLimit = Duration::Seconds(2);

// True when a signal to end came within `wait`.
bool AskedToEnd(const sigset_t& signals, Duration wait) {
  const timespec pause{wait.nanoseconds() / 1'000'000'000, wait.nanoseconds() % 1'000'000'000};
  const int signal = sigtimedwait(&signals, nullptr, &pause);
  return signal > 0 && signal != SIGWINCH;
}

std::string Invitation(const std::string& url) {
  return absl::StrCat(
      "Penstock demo on ", url, "\n  page     ", url, "/\n  metrics  ", url, "/metrics\n  ready    ", url, "/readyz\n",
      "  ask      curl -N ", url, "/v1/chat/completions -H 'Content-Type: application/json' \\\n",
      "             -d '{\"model\":\"", kModels.chat,
      "\",\"stream\":true,\"max_tokens\":60,\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}'\n",
      "  end      Ctrl-C\n");
}

// The demo's fleet under another policy. Its models do not sleep: a policy without residency could not wake them.
Config Beside(Config config, const std::string& policy) {
  config.policy = policy;
  config.listen = "127.0.0.1:0";
  config.log.path = "/dev/null";
  for (ReplicaConfig& replica : config.replicas) replica.sleep.reset();
  return config;
}

// Until a signal, the time or the person in front of the terminal ends the demo.
void Watch(const bench::DemoContest& contest, const std::string& url, Instant start, Instant end,
           const sigset_t& signals) {
  std::cout << Invitation(url) << std::flush;
  if (const auto address = ParseUpstreamUrl(url); address.ok() && top::OnTerminal()) {
    top::StateReader reader(*address, url, "", nullptr);
    top::ShowScreen(reader, kFrame, signals, end);
    return;
  }
  for (Instant next = start + kLogLine; Now() < end; next = next + kLogLine) {
    if (AskedToEnd(signals, std::min(next, end) - Now())) return;
    const bench::DemoFrame frame{url, contest.elapsed(), contest.first().View(), contest.FirstStats()};
    std::cout << bench::DemoLine(frame) << '\n';
    if (const std::string rows = bench::ContestText(contest.Rows()); !rows.empty())
      std::cout << "        " << rows << '\n';
    std::cout << std::flush;
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

// Empty where the figures are those of the policies alone.
std::string StallText(const bench::DemoSnapshot& stats) {
  if (stats.longest_stall < bench::kSeriousStall) return "";
  return absl::StrFormat(
      "This machine is busy: the clients stood still for up to %.1f s, and times have that in them.\n",
      stats.longest_stall.seconds());
}

enum class Start { kReady, kAskedToEnd, kTooLate };

Start WaitForEngines(const bench::DemoContest& contest, const sigset_t& signals) {
  const Instant limit = Now() + kStartLimit;
  while (!contest.Ready()) {
    if (AskedToEnd(signals, Duration::Milliseconds(20))) return Start::kAskedToEnd;
    if (Now() > limit) return Start::kTooLate;
  }
  return Start::kReady;
}

}  // namespace

int RunDemo(const DemoOptions& options) {
  const sigset_t signals = BlockSignals({SIGTERM, SIGINT, SIGWINCH});
  absl::StatusOr<Config> config = ParseConfig(kFleet, "demo fleet");
  if (!config.ok()) return Fail("demo", config.status().message());
  config->listen = options.listen;
  // Decisions would be written across the screen.
  if (isatty(STDERR_FILENO)) config->log.path = "/dev/null";
  std::vector<Config> configs(1, *config);
  if (options.beside != kNobody) configs.push_back(Beside(*config, options.beside));
  bench::DemoContest contest(PENSTOCK_VERSION);
  if (const absl::Status started = contest.Start(configs); !started.ok()) return Fail("demo", started.message());
  const Start begun = WaitForEngines(contest, signals);
  if (begun == Start::kAskedToEnd) return 0;
  if (begun == Start::kTooLate) return Fail("demo", "the simulated engines did not come up");

  const Instant start = Now();
  contest.Send(kModels);
  Watch(contest, bench::ReachableUrl(contest.first()), start,
        options.duration ? start + *options.duration : Instant::Never(), signals);
  const Duration elapsed = contest.elapsed();
  contest.End(kDrainLimit);
  std::cout << Farewell(contest.FirstStats(), elapsed) << '\n';
  if (const std::string rows = bench::ContestText(contest.Rows()); !rows.empty()) std::cout << rows << '\n';
  std::cout << StallText(contest.FirstStats()) << std::flush;
  return std::cout ? 0 : 1;
}

}  // namespace penstock
