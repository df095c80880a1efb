// The cost of the GPUs' time beside the core: CPU time of one event and of one sample, by size of the fleet.
//
//   accounts_benchmark [replicas ...]
//
// Each replica has a GPU of its own and 64 requests. An event is one of the three of a request's life. A sample finds
// other numbers of overdue streams each time, so every replica's work changes. A wait is one request that begins to
// wait and is placed, while every GPU rests. Medians of 400 rounds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "router/core/accounts/work_book.h"

namespace penstock::bench {
namespace {

constexpr int kRounds = 400;
constexpr uint64_t kRequestsEach = 64;
constexpr uint64_t kEventsOfALife = 3;

Fleet FleetOf(uint32_t replicas) {
  Fleet fleet;
  fleet.models = {{"m"}};
  fleet.classes = {{.name = "standard", .ttft = Duration::Seconds(2), .tpot = Duration::Milliseconds(100)}};
  for (uint32_t i = 0; i < replicas; ++i) {
    ReplicaSpec replica;
    replica.models = {ModelId(0)};
    replica.gpus = {i};
    fleet.replicas.push_back(replica);
  }
  return fleet;
}

double Nanoseconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - since).count();
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

void Begin(WorkBook& book, uint64_t request, uint32_t replicas, Instant now) {
  RequestArrived arrived;
  arrived.request = RequestId(request);
  arrived.prompt = Tokens(500);
  book.Observe(arrived, now, {Forward{RequestId(request), ReplicaId(static_cast<uint32_t>(request % replicas))}});
  book.Observe(FirstToken{RequestId(request)}, now, {});
}

// All GPUs rest. Nanoseconds of a request that begins to wait and waits no more.
double OfAWait(uint32_t replicas) {
  GpuAccounts accounts;
  accounts.Place(PlacesOf(FleetOf(replicas)), 1, Instant::FromSeconds(1));
  std::vector<double> waits;
  for (int round = 0; round < kRounds; ++round) {
    const Instant now = Instant::FromSeconds(2 + round);
    const auto began = std::chrono::steady_clock::now();
    accounts.ChangeWaiting(ModelId(0), 1, now);
    accounts.ChangeWaiting(ModelId(0), -1, now + Duration::Milliseconds(1));
    waits.push_back(Nanoseconds(began));
  }
  return Median(waits);
}

void Measure(uint32_t replicas) {
  GpuAccounts accounts;
  WorkBook book(accounts);
  const Fleet fleet = FleetOf(replicas);
  Instant now = Instant::FromSeconds(1);
  accounts.Place(PlacesOf(fleet), 1, now);
  book.Observe(FleetChanged{fleet}, now, {});
  for (uint32_t i = 0; i < replicas; ++i) book.Observe(ReplicaHealth{ReplicaId(i), Health::kUp}, now, {});
  const uint64_t live = kRequestsEach * replicas;
  for (uint64_t request = 0; request < live; ++request) Begin(book, request, replicas, now);
  std::vector<double> events, samples, quiet;
  std::vector<int64_t> late(replicas);
  for (int round = 0; round < kRounds; ++round) {
    now = now + Duration::Milliseconds(25);
    auto began = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < replicas; ++i) {
      const uint64_t old = static_cast<uint64_t>(round) * replicas + i;
      book.Observe(RequestClosed{RequestId(old)}, now, {});
      Begin(book, old + live, replicas, now);
    }
    events.push_back(Nanoseconds(began) / static_cast<double>(kEventsOfALife * replicas));
    for (size_t i = 0; i < late.size(); ++i) late[i] = round % 2 + static_cast<int64_t>(i % 3);
    began = std::chrono::steady_clock::now();
    book.Sample(late, {}, now);
    samples.push_back(Nanoseconds(began));
    began = std::chrono::steady_clock::now();
    book.Sample(late, {}, now);
    quiet.push_back(Nanoseconds(began));
  }
  std::printf("| %u | %.0f ns | %.1f us | %.1f us | %.3f %% | %.0f ns |\n", replicas, Median(events),
              Median(samples) / 1000, Median(quiet) / 1000, Median(samples) / 25e6 * 100, OfAWait(replicas));
}

}  // namespace
}  // namespace penstock::bench

int main(int count, char** arguments) {
  std::vector<uint32_t> sizes;
  for (int i = 1; i < count; ++i) sizes.push_back(static_cast<uint32_t>(std::max(1, std::atoi(arguments[i]))));
  if (sizes.empty()) sizes = {16, 256};
  std::printf(
      "| replicas | an event | a sample, all change | a sample, none does | of a core at 25 ms | a wait, all GPUs rest "
      "|\n");
  std::printf("|---|---|---|---|---|---|\n");
  for (const uint32_t size : sizes) penstock::bench::Measure(size);
}
