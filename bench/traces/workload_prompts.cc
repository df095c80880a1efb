// Workloads whose prompts repeat one another.
#include <algorithm>
#include <string>

#include "absl/strings/str_format.h"
#include "bench/traces/draws.h"
#include "bench/traces/workload_scenarios.h"

namespace penstock::bench {

void Documents(double length, Generator& generator, std::vector<TraceRequest>& requests) {
  // Sessions over one document each: every turn repeats what came before it and adds some blocks.
  const auto sessions = [](double) { return 0.8; };
  uint64_t next_block = 1;
  for (const double start : PoissonArrivals(length, 0.8, sessions, generator)) {
    std::vector<uint64_t> blocks;
    int64_t prompt = Between(generator.LogNormal(9.0, 0.9), 1'000, 100'000).value();
    const int turns = 1 + static_cast<int>(generator.Exponential(3));
    double at = start;
    for (int turn = 0; turn < turns && at < length; ++turn) {
      while (static_cast<int64_t>(blocks.size()) < prompt / kPrefixBlock.value()) blocks.push_back(next_block++);
      TraceRequest request;
      request.arrival = Duration::Seconds(at);
      request.tenant = absl::StrFormat("session-%d", blocks.empty() ? 0 : blocks.front());
      request.session = request.tenant;
      request.prompt = Tokens(prompt);
      request.output = Between(generator.LogNormal(5.6, 0.7), 1, 2'000);
      request.prefix_hashes = blocks;
      requests.push_back(request);
      prompt = std::min<int64_t>(
          120'000, prompt + request.output.value() + Between(generator.LogNormal(6, 1), 1, 20'000).value());
      at += generator.Exponential(30);
    }
  }
}

void Agentic(double length, Generator& generator, std::vector<TraceRequest>& requests) {
  // Coding agents: a session repeats its whole context with each call, and now and then sends several calls at once.
  constexpr double kSessions = 0.02;  // Per second.
  constexpr double kBefore = 1800;    // Sessions that began this long before are still open at the start.
  constexpr int64_t kTools = 24;      // Blocks of tools and instructions that all sessions share.
  constexpr int64_t kLongest = 126'000;
  uint64_t next_block = kTools + 1;
  const auto sessions = [](double) { return kSessions; };
  int number = 0;
  for (const double start : PoissonArrivals(kBefore + length, kSessions, sessions, generator)) {
    const std::string tenant = absl::StrFormat("agent-%d", number++);
    std::vector<uint64_t> blocks;
    for (uint64_t block = 1; block <= kTools; ++block) blocks.push_back(block);
    int64_t prompt = Between(generator.LogNormal(10.5, 0.5), 14'000, kLongest).value();
    const int turns = 1 + static_cast<int>(generator.Exponential(40));
    double at = start - kBefore;
    for (int turn = 0; turn < turns && at < length; ++turn) {
      while (static_cast<int64_t>(blocks.size()) < prompt / kPrefixBlock.value()) blocks.push_back(next_block++);
      const int calls = generator.Uniform() < 0.1 ? 2 + static_cast<int>(generator.Next() % 4) : 1;
      for (int call = 0; call < calls; ++call) {
        TraceRequest request;
        request.arrival = Duration::Seconds(at + 0.5 * call * generator.Uniform());
        request.tenant = tenant;
        request.session = tenant;
        request.prompt = Tokens(prompt) + Tokens(call == 0 ? 0 : static_cast<int64_t>(generator.Next() % 2'000));
        request.output = Between(generator.LogNormal(5.4, 0.9), 1, 8'000);
        request.prefix_hashes = blocks;
        if (request.arrival >= Duration() && request.arrival < Duration::Seconds(length)) requests.push_back(request);
      }
      prompt = std::min(kLongest, prompt + Between(generator.LogNormal(7, 1), 50, 20'000).value());
      at += generator.LogNormal(2.8, 1.3);
    }
  }
}

void Fanout(double length, Generator& generator, std::vector<TraceRequest>& requests) {
  // Parallel calls over one document: a burst of questions repeats the same blocks and adds its own.
  constexpr double kBursts = 0.5;  // Per second.
  uint64_t next_block = 1;
  const auto bursts = [](double) { return kBursts; };
  int number = 0;
  for (const double start : PoissonArrivals(length, kBursts, bursts, generator)) {
    const std::string tenant = absl::StrFormat("document-%d", number++);
    std::vector<uint64_t> blocks;
    const int64_t document = Between(generator.LogNormal(9.0, 0.4), 4'000, 24'000).value();
    while (static_cast<int64_t>(blocks.size()) < document / kPrefixBlock.value()) blocks.push_back(next_block++);
    const int calls = 4 + static_cast<int>(generator.Next() % 13);
    for (int call = 0; call < calls; ++call) {
      TraceRequest request;
      request.arrival = Duration::Seconds(start + 0.3 * generator.Uniform());
      request.tenant = tenant;
      request.prompt = Tokens(document) + Between(generator.LogNormal(5.3, 0.7), 20, 2'000);
      request.output = Between(generator.LogNormal(4.8, 0.7), 1, 1'000);
      request.prefix_hashes = blocks;
      if (request.arrival < Duration::Seconds(length)) requests.push_back(request);
    }
  }
}

}  // namespace penstock::bench
