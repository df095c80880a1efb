#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "app/commands.h"
#include "app/process.h"
#include "bench/figures/results.h"
#include "bench/load/load_client.h"
#include "bench/traces/trace.h"

namespace penstock {
namespace {

// Every open stream is a file; the soft limit of a shell is often 1024.
void RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

absl::StatusOr<bench::LoadClientOptions> ClientOptions(const LoadOptionsCli& cli) {
  bench::LoadClientOptions options;
  const std::vector<std::string> urls = cli.direct.empty() ? std::vector<std::string>{cli.url} : cli.direct;
  for (const std::string& url : urls) {
    absl::StatusOr<bench::LoadTarget> target = bench::ParseLoadTarget(url);
    if (!target.ok()) return target.status();
    options.targets.push_back(*std::move(target));
  }
  options.name_replicas = !cli.direct.empty();
  options.model = cli.model;
  options.models = cli.map;
  options.goals = {cli.ttft, cli.tpot};
  options.drain = cli.drain;
  options.seed = cli.seed;
  if (isatty(STDERR_FILENO)) {
    options.progress = [](const bench::LoadProgress& p) {
      absl::FPrintF(stderr, "\r%6.1f s  sent %d  running %d  finished %d  refused %d  failed %d  tokens %d\x1b[K",
                    p.elapsed.seconds(), p.sent, p.running, p.finished, p.refused, p.failed, p.tokens);
    };
  }
  return options;
}

}  // namespace

int RunLoad(const LoadOptionsCli& cli) {
  RaiseFileLimit();
  const absl::StatusOr<bench::LoadClientOptions> options = ClientOptions(cli);
  if (!options.ok()) return Fail("load", options.status().message());
  const std::string source = cli.trace.empty() ? "generate:azure-conv" : cli.trace;
  const absl::StatusOr<bench::Trace> trace = bench::OpenTrace(source, {cli.rate, cli.duration, Duration()}, cli.seed);
  if (!trace.ok()) return Fail("load", trace.status().message());
  const absl::StatusOr<bench::LoadOutcome> outcome = bench::RunLoadClient(*trace, *options);
  if (options->progress) absl::FPrintF(stderr, "\r\x1b[K");
  if (!outcome.ok()) return Fail("load", outcome.status().message());
  bench::Results results = bench::Summarise(outcome->records, trace->length);
  results.preemptions = outcome->preemptions;
  std::cout << (cli.json ? bench::ResultsJson(results) + "\n" : bench::ResultsTable(results)) << std::flush;
  return std::cout.good() ? 0 : 1;
}

}  // namespace penstock
