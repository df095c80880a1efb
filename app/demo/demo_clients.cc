#include "app/demo/demo_clients.h"

#include <utility>

#include "base/clock.h"
#include "bench/load/load_client.h"

namespace penstock::bench {
namespace {

// Traffic is generated this far ahead and then anew from the next seed.
constexpr Duration kRound = Duration::Seconds(1200);

}  // namespace

DemoClients::DemoClients(const std::string& url, const DemoModels& models, DemoStats& stats, Instant start)
    : models_(models), stats_(stats), start_(start) {
  const size_t kinds = DemoTraffic(models_, Duration::Seconds(1), 1).size();
  for (size_t kind = 0; kind < kinds; ++kind) threads_.emplace_back([this, url, kind] { Run(url, kind); });
}

DemoClients::~DemoClients() {
  stop_ = true;
  for (std::thread& thread : threads_) thread.join();
}

void DemoClients::Run(const std::string& url, size_t kind) {
  for (uint64_t seed = 1; !stop_; ++seed) {
    const DemoStream stream = std::move(DemoTraffic(models_, kRound, seed)[kind]);
    LoadClientOptions options;
    options.targets = {*ParseLoadTarget(url)};
    options.service_class = stream.service_class;
    options.goals = stream.goals;
    options.seed = seed;
    options.stop = &stop_;
    options.settled = [this](const RequestRecord& record) { stats_.OnSettled(record, Now() - start_); };
    // The only error is a target that cannot be resolved; an address always can.
    const auto outcome = RunLoadClient(stream.trace, options);
    if (!outcome.ok()) return;
    stats_.OnStall(outcome->longest_stall);
  }
}

}  // namespace penstock::bench
