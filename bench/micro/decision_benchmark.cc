// The cost of one decision: CPU time of single Apply calls, by kind of event and size of the fleet.
//
//   decision_benchmark [--load L] [--warm SECONDS] [--seconds SECONDS] [--runs RUNS] [replicas ...]
//
// Each row comes from RUNS runs of the same events (decision_world.h), by default two. An event counts with
// the cheapest of its calls. The work of the core is the same each time; an interrupt rarely meets the same event
// twice. The columns "one run" are the first run as it is. Equal digests are equal decisions.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "bench/micro/decision_world.h"

namespace penstock::bench {
namespace {

constexpr std::array<const char*, kEventKinds> kNames = {
    "a request arrives", "a first token", "progress of a replica", "an engine's report", "a request ends", "a timer"};

struct Options {
  double load = 1.15;
  double warm = 12;
  double seconds = 4;
  int runs = 2;
  std::vector<uint32_t> replicas;
};

float At(const std::vector<float>& sorted, double quantile) {
  return sorted[std::min(sorted.size() - 1, static_cast<size_t>(quantile * static_cast<double>(sorted.size())))];
}

void PrintRow(const char* name, uint32_t replicas, std::vector<float> single, std::vector<float> least) {
  if (least.empty()) return;
  std::sort(single.begin(), single.end());
  std::sort(least.begin(), least.end());
  std::printf("| %s | %u | %zu | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f |\n", name, replicas, least.size(),
              At(least, 0.5), At(least, 0.99), At(least, 0.999), least.back(), At(single, 0.99), single.back());
}

std::unique_ptr<DecisionWorld> RunOnce(const Options& options, uint32_t replicas) {
  auto world = std::make_unique<DecisionWorld>(replicas, options.load);
  world->Run(Duration::Seconds(options.warm));
  world->Restart();
  world->Run(Duration::Seconds(options.seconds));
  return world;
}

int Measure(const Options& options, uint32_t replicas) {
  Costs first;
  WorldFigures figures;
  {
    const auto world = RunOnce(options, replicas);
    first = world->costs();
    figures = world->figures();
  }
  Costs cheapest = first;
  for (int run = 1; run < options.runs; ++run) {
    const auto world = RunOnce(options, replicas);
    if (world->figures().digest != figures.digest) {
      std::fprintf(stderr, "decision_benchmark: two runs of the same events decided differently\n");
      return 1;
    }
    for (size_t kind = 0; kind < kEventKinds; ++kind) {
      std::transform(cheapest[kind].begin(), cheapest[kind].end(), world->costs()[kind].begin(), cheapest[kind].begin(),
                     [](float a, float b) { return std::min(a, b); });
    }
  }
  std::vector<float> all_single;
  std::vector<float> all_least;
  for (size_t kind = 0; kind < kEventKinds; ++kind) {
    std::vector<float>& least = cheapest[kind];
    all_single.insert(all_single.end(), first[kind].begin(), first[kind].end());
    all_least.insert(all_least.end(), least.begin(), least.end());
    PrintRow(kNames[kind], replicas, first[kind], std::move(least));
  }
  PrintRow("all", replicas, std::move(all_single), std::move(all_least));
  std::printf("| | | %ld running, at most %ld waiting, %ld forwarded, %ld refused, digest %016lx | | | | | | |\n",
              figures.running, figures.most_waiting, figures.forwarded, figures.refused, figures.digest);
  std::fflush(stdout);
  return 0;
}

int Main(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const char* argument = arguments[i];
    const auto is = [&](const char* name) { return std::strcmp(argument, name) == 0 && i + 1 < count; };
    if (is("--load")) {
      options.load = std::atof(arguments[++i]);
    } else if (is("--warm")) {
      options.warm = std::atof(arguments[++i]);
    } else if (is("--seconds")) {
      options.seconds = std::atof(arguments[++i]);
    } else if (is("--runs")) {
      options.runs = std::atoi(arguments[++i]);
    } else {
      options.replicas.push_back(static_cast<uint32_t>(std::atoi(argument)));
    }
  }
  if (options.replicas.empty()) options.replicas = {8, 64, 256, 1000};
  std::printf("| event | replicas | calls | p50 | p99 | p99.9 | max | p99, one run | max, one run |\n");
  std::printf("|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  for (const uint32_t replicas : options.replicas) {
    if (const int failed = Measure(options, replicas); failed != 0) return failed;
  }
  return 0;
}

}  // namespace
}  // namespace penstock::bench

int main(int count, char** arguments) { return penstock::bench::Main(count, arguments); }
