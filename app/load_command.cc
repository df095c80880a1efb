#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "app/commands.h"
#include "app/process.h"
#include "app/progress_line.h"
#include "base/harmless.h"
#include "bench/figures/results.h"
#include "bench/load/load_client.h"
#include "bench/traces/trace.h"
#include "config/text/findings.h"

namespace penstock {
namespace {

// Shells report this status for a command that Ctrl-C ended.
constexpr int kInterrupted = 130;

std::atomic<bool> interrupted{false};

// A second signal ends the command at once.
void Interrupt(int signal) {
  interrupted = true;
  std::signal(signal, SIG_DFL);
}

// The figures are those of the requests that left, over the time of the run.
int PrintInterrupted(bench::LoadOutcome outcome, const bench::Trace& trace, bool json) {
  const size_t planned = outcome.records.size();
  outcome.records.resize(outcome.sent);
  bench::Results results = bench::Summarise(outcome.records, std::min(trace.length, outcome.elapsed));
  results.preemptions = outcome.preemptions;
  std::cout << (json ? bench::ResultsJson(results) + "\n" : bench::ResultsTable(results)) << std::flush;
  absl::FPrintF(stderr, "penstock load: interrupted after %.1f s: %d of %d requests were sent\n",
                outcome.elapsed.seconds(), outcome.sent, planned);
  return kInterrupted;
}

// Every open stream is a file; the soft limit of a shell is often 1024.
void RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// The headers of every request, the key among them.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> HeadersOf(const LoadOptionsCli& cli) {
  std::vector<std::pair<std::string, std::string>> headers;
  if (!cli.key.empty()) headers.emplace_back("Authorization", "Bearer " + cli.key);
  for (const std::string& text : cli.headers) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
    const absl::string_view value = absl::StripAsciiWhitespace(parts.second);
    const bool named = !parts.first.empty() && std::all_of(parts.first.begin(), parts.first.end(), [](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
    });
    if (!named || value.empty()) return absl::InvalidArgumentError("--header: \"" + text + "\" is not NAME:VALUE");
    headers.emplace_back(parts.first, value);
  }
  for (const auto& [name, value] : headers) {
    const bool visible =
        std::all_of(value.begin(), value.end(), [](char c) { return static_cast<unsigned char>(c) >= 32; });
    if (!visible) return absl::InvalidArgumentError(name + " has control characters");
  }
  return headers;
}

absl::StatusOr<bench::LoadClientOptions> ClientOptions(const LoadOptionsCli& cli) {
  bench::LoadClientOptions options;
  const std::vector<std::string> urls = cli.direct.empty() ? std::vector<std::string>{cli.url} : cli.direct;
  for (const std::string& url : urls) {
    absl::StatusOr<bench::LoadTarget> target = bench::ParseLoadTarget(url);
    if (!target.ok()) return target.status();
    options.targets.push_back(*std::move(target));
  }
  const auto headers = HeadersOf(cli);
  if (!headers.ok()) return headers.status();
  for (bench::LoadTarget& target : options.targets) target.headers = *headers;
  options.name_replicas = !cli.direct.empty();
  options.model = cli.model;
  options.models = cli.map;
  options.goals = {cli.ttft, cli.tpot};
  options.drain = cli.drain;
  options.seed = cli.seed;
  return options;
}

std::string ReasonsOf(const std::map<std::string, int64_t>& counts) {
  return absl::StrJoin(counts, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, Harmless(entry.first), " ", entry.second);
  });
}

// Where requests failed, says how many and why. A client that goes away as the trace says is no failure. Refusals are
// failures only where nothing else came.
int CodeOf(bench::Results results) {
  const bool left = results.failed.erase(bench::kClientGone) > 0;
  if (results.FailedCount() > 0) {
    absl::FPrintF(stderr, "penstock load: %d of %d requests failed (%s)\n", results.FailedCount(), results.offered,
                  ReasonsOf(results.failed));
    return 1;
  }
  if (results.finished > 0 || results.RefusedCount() == 0 || left) return 0;
  absl::FPrintF(stderr, "penstock load: all of %d requests were refused (%s)\n", results.offered,
                ReasonsOf(results.refused));
  return 1;
}

// Whoever runs the client beside its engines may measure the machine.
void WarnOfStall(const bench::LoadOutcome& outcome) {
  if (outcome.longest_stall < bench::kSeriousStall) return;
  absl::FPrintF(stderr,
                "penstock load: warning: this client stood still for up to %.1f s: its machine is busy, and times have "
                "that in them\n",
                outcome.longest_stall.seconds());
}

// A model that the first target does not list is worth a word before the run; aliases may be served without a listing.
void WarnOfModel(const bench::LoadClientOptions& options) {
  if (options.model.empty()) return;
  const absl::StatusOr<std::vector<std::string>> listed = bench::FetchModels(options.targets.front());
  if (!listed.ok() || std::find(listed->begin(), listed->end(), options.model) != listed->end()) return;
  absl::FPrintF(stderr, "penstock load: warning: %s does not list the model \"%s\"%s, listed: %s\n",
                options.targets.front().url, options.model,
                Harmless(Suggestion(options.model, {listed->begin(), listed->end()})),
                Harmless(absl::StrJoin(*listed, " ")));
}

}  // namespace

int RunLoad(const LoadOptionsCli& cli) {
  RaiseFileLimit();
  absl::StatusOr<bench::LoadClientOptions> options = ClientOptions(cli);
  if (!options.ok()) return Fail("load", options.status().message());
  const std::string source = cli.trace.empty() ? "generate:azure-conv" : cli.trace;
  const absl::StatusOr<bench::Trace> trace = bench::OpenTrace(source, {cli.rate, cli.duration, Duration()}, cli.seed);
  if (!trace.ok()) return Fail("load", trace.status().message());
  WarnOfModel(*options);
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, &Interrupt);
  options->stop = &interrupted;
  ProgressLine line;
  options->progress = [&](const bench::LoadProgress& p) {
    line.Show(absl::StrFormat("sent %d, running %d, finished %d, refused %d, failed %d", p.sent, p.running, p.finished,
                              p.refused, p.failed),
              p.elapsed.seconds() / trace->length.seconds());
  };
  absl::StatusOr<bench::LoadOutcome> outcome = bench::RunLoadClient(*trace, *options);
  line.Clear();
  if (!outcome.ok()) return Fail("load", outcome.status().message());
  WarnOfStall(*outcome);
  if (interrupted) return PrintInterrupted(*std::move(outcome), *trace, cli.json);
  bench::Results results = bench::Summarise(outcome->records, trace->length);
  results.preemptions = outcome->preemptions;
  std::cout << (cli.json ? bench::ResultsJson(results) + "\n" : bench::ResultsTable(results)) << std::flush;
  return std::cout.good() ? CodeOf(results) : 1;
}

}  // namespace penstock
