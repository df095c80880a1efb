// Workloads in which clients differ: in their classes, in the limits that they state, in their patience, in their
// sources.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "absl/strings/str_format.h"
#include "bench/traces/draws.h"
#include "bench/traces/workload_scenarios.h"

namespace penstock::bench {
namespace {

// A kind of client: a class, a rate, and the medians and spreads of its prompts and outputs.
struct Kind {
  const char* name;  // Of its class, and the first part of its tenants' names.
  double rate;       // Requests per second.
  double prompt_mu, prompt_sigma, output_mu, output_sigma;
};
constexpr Kind kInteractive = {"interactive", 4, 5.8, 0.8, 4.4, 0.7};
constexpr Kind kStandard = {"standard", 3, 6.6, 0.9, 5.2, 0.8};
constexpr Kind kBackground = {"background", 1.5, 7.6, 0.6, 6.0, 0.6};

void AddKind(const Kind& kind, double length, Generator& generator, std::vector<TraceRequest>& requests) {
  // The rate of people moves by a third within minutes; batches come evenly.
  const double swing = kind.rate / 3;
  const double phase = 2 * M_PI * generator.Uniform();
  const auto rate = [&](double at) { return kind.rate + swing * std::sin(2 * M_PI * at / 120 + phase); };
  for (const double at : PoissonArrivals(length, kind.rate + swing, rate, generator)) {
    TraceRequest request;
    request.arrival = Duration::Seconds(at);
    request.tenant = absl::StrFormat("%s-%d", kind.name, generator.Next() % 8);
    request.service_class = kind.name;
    request.prompt = Between(generator.LogNormal(kind.prompt_mu, kind.prompt_sigma), 1, 16'000);
    request.output = Between(generator.LogNormal(kind.output_mu, kind.output_sigma), 1, 4'000);
    requests.push_back(request);
  }
}

std::vector<TraceRequest> People(double length, Generator& generator) {
  std::vector<TraceRequest> requests;
  AddKind({"people", 8, 6.3, 0.9, 5.0, 0.8}, length, generator, requests);
  for (TraceRequest& request : requests) request.service_class.clear();
  return requests;
}

}  // namespace

void TwoClasses(double length, Generator& generator, std::vector<TraceRequest>& requests) {
  AddKind(kInteractive, length, generator, requests);
  AddKind(kStandard, length, generator, requests);
}

void ThreeClasses(double length, Generator& generator, std::vector<TraceRequest>& requests) {
  TwoClasses(length, generator, requests);
  AddKind(kBackground, length, generator, requests);
}

void Limits(double length, Generator& generator, std::vector<TraceRequest>& requests) {
  // Half of the tenants state what they need: a round number above it, or one that cuts their answers.
  for (TraceRequest& request : People(length, generator)) {
    if (request.tenant.back() % 2 == 0) {
      constexpr int64_t kRound[] = {16, 64, 128, 256, 512, 1024, 2048, 4096};
      const double wish = request.output.AsDouble() * generator.LogNormal(0.3, 0.4);
      const auto* stated = std::lower_bound(std::begin(kRound), std::end(kRound) - 1, static_cast<int64_t>(wish));
      request.max_output = Tokens(*stated);
    }
    requests.push_back(request);
  }
}

void Impatient(double length, Generator& generator, std::vector<TraceRequest>& requests) {
  // A tenth of the clients goes away: some at once, most while they read.
  for (TraceRequest& request : People(length, generator)) {
    if (generator.Uniform() < 0.1) request.gone_after = Duration::Seconds(generator.Exponential(5));
    requests.push_back(request);
  }
}

void Rag(double length, Generator& generator, std::vector<TraceRequest>& requests) {
  // A system prompt that all share, a block that changes with the day, then passages: sessions repeat their own.
  constexpr double kSessions = 1.6;  // Per second.
  uint64_t next_block = 3;
  int number = 0;
  const auto sessions = [](double) { return kSessions; };
  for (const double start : PoissonArrivals(length, kSessions, sessions, generator)) {
    const std::string tenant = absl::StrFormat("reader-%d", number++);
    const int turns = 1 + static_cast<int>(generator.Exponential(0.8));
    double at = start;
    for (int turn = 0; turn < turns; ++turn, at += generator.Exponential(20)) {
      TraceRequest request;
      request.arrival = Duration::Seconds(at);
      request.tenant = tenant;
      // A sixth of the questions needs no passages.
      const bool plain = generator.Uniform() < 0.17;
      request.prompt = plain ? Between(generator.LogNormal(6.97, 0.05), 1'024, 1'500)
                             : Between(generator.LogNormal(8.05, 0.22), 1'600, 7'700);
      request.output = Between(generator.LogNormal(5.4, 0.75), 1, 2'200);
      request.prefix_hashes = {1, 2};
      while (static_cast<int64_t>(request.prefix_hashes.size()) < request.prompt.value() / kPrefixBlock.value()) {
        request.prefix_hashes.push_back(next_block++);
      }
      if (at < length) requests.push_back(request);
    }
  }
}

}  // namespace penstock::bench
