// Cost of one decision: events of a saturated fleet of 256 replicas with 10,000 requests waiting.
//
// The fleet is filled until everything waits; then each iteration applies one event of the kind named. The counters
// p50_us and p99_us are of single Apply calls.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <vector>

#include "router/core/penstock_core.h"

namespace penstock {
namespace {

constexpr uint32_t kReplicas = 256;
constexpr uint64_t kWaiting = 10'000;

Fleet MakeFleet() {
  Fleet fleet;
  fleet.models.push_back({"chat"});
  fleet.classes = {{"standard", Duration::Seconds(2), Duration::Milliseconds(100), Duration::Seconds(86'400), false}};
  for (uint32_t i = 0; i < kReplicas; ++i) {
    PoolSpec pool;
    pool.name = "pool" + std::to_string(i);
    pool.capacity = Amount(60'000);
    pool.in_bytes = false;
    fleet.pools.push_back(pool);
    ReplicaSpec replica;
    replica.name = "replica" + std::to_string(i);
    replica.models = {ModelId(0)};
    replica.pools.push_back({PoolId(i), Footprint::InTokens(Tokens(16))});
    replica.gpus = {i};
    replica.prior = StepCoefficients{11, 0.034, 0.08, 0.057};
    replica.max_context = Tokens(32'768);
    fleet.replicas.push_back(replica);
  }
  return fleet;
}

// A fleet that runs as much as fits, and its queue.
class Saturated {
 public:
  Saturated() {
    Apply(FleetChanged{MakeFleet()});
    for (uint32_t i = 0; i < kReplicas; ++i) Apply(ReplicaHealth{ReplicaId(i), Health::kUp});
    while (waiting_ < kWaiting) {
      Arrive();
      // First tokens empty the runway, so that memory is what everything waits for in the end.
      while (!prefilling_.empty()) {
        const RequestId request = prefilling_.front();
        prefilling_.pop_front();
        Apply(FirstToken{request});
      }
    }
    costs_us_.clear();
  }

  void Arrive() {
    RequestArrived event;
    event.request = RequestId(next_++);
    event.prompt = Tokens(200 + static_cast<int64_t>((next_ * 2'654'435'761u) % 1'800));
    event.prompt_sigma = 0.03;
    ++waiting_;
    Apply(event);
  }
  void Step() {
    now_ = now_ + Duration::Microseconds(100);
    Apply(Progress{{{ReplicaId(static_cast<uint32_t>(turn_++ % kReplicas)), 1, now_}}, {}});
  }
  void FinishOne() {
    const RequestId request = running_.front();
    running_.pop_front();
    Apply(RequestClosed{request, Outcome::kFinished, Tokens(0), Tokens(150), false});
    while (!prefilling_.empty()) {
      Apply(FirstToken{prefilling_.front()});
      prefilling_.pop_front();
    }
  }
  void Report(benchmark::State& state) {
    std::sort(costs_us_.begin(), costs_us_.end());
    if (costs_us_.empty()) return;
    state.counters["p50_us"] = costs_us_[costs_us_.size() / 2];
    state.counters["p99_us"] = costs_us_[costs_us_.size() * 99 / 100];
    state.counters["max_us"] = costs_us_.back();
  }

 private:
  void Apply(const Event& event) {
    actions_.clear();
    const auto from = std::chrono::steady_clock::now();
    core_.Apply(event, now_, actions_);
    costs_us_.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - from).count());
    for (const Action& action : actions_) {
      if (const auto* forward = std::get_if<Forward>(&action)) {
        running_.push_back(forward->request);
        prefilling_.push_back(forward->request);
        --waiting_;
      }
    }
  }

  PenstockCore core_;
  Instant now_ = Instant::FromSeconds(1);
  uint64_t next_ = 1;
  uint64_t waiting_ = 0;
  uint64_t turn_ = 0;
  std::deque<RequestId> running_;
  std::deque<RequestId> prefilling_;
  std::vector<Action> actions_;
  std::vector<double> costs_us_;
};

void Arrival(benchmark::State& state) {
  Saturated fleet;
  for (auto _ : state) fleet.Arrive();
  fleet.Report(state);
}
void ProgressSample(benchmark::State& state) {
  Saturated fleet;
  for (auto _ : state) fleet.Step();
  fleet.Report(state);
}
void FinishAndRefill(benchmark::State& state) {
  Saturated fleet;
  for (auto _ : state) {
    fleet.FinishOne();
    fleet.Arrive();
  }
  fleet.Report(state);
}

BENCHMARK(Arrival)->Iterations(20'000);
BENCHMARK(ProgressSample)->Iterations(20'000);
BENCHMARK(FinishAndRefill)->Iterations(5'000);

}  // namespace
}  // namespace penstock

BENCHMARK_MAIN();
