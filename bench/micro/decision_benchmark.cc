// Cost of one decision: events of a saturated fleet with a long queue.
//
// The fleet is filled until everything waits; then events of the kind named are applied. Equal runs do equal work, so
// the whole is run kRuns times. Each Apply counts with the least CPU time that it took. So the work of other processes
// and the kernel during one run is not in the figures. `allocations` is the mean per call.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <new>
#include <vector>

#include "router/core/penstock_core.h"

namespace {
int64_t allocations = 0;
}  // namespace

void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace penstock {
namespace {

double CpuMicroseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

Fleet MakeFleet(uint32_t replicas) {
  Fleet fleet;
  fleet.models.push_back({"chat"});
  fleet.classes = {{"standard", Duration::Seconds(2), Duration::Milliseconds(100), Duration::Seconds(86'400), false}};
  for (uint32_t i = 0; i < replicas; ++i) {
    PoolSpec pool;
    pool.name = "pool" + std::to_string(i);
    pool.capacity = Amount(300'000);
    pool.in_bytes = false;
    fleet.pools.push_back(pool);
    ReplicaSpec replica;
    replica.name = "replica" + std::to_string(i);
    replica.models = {ModelId(0)};
    replica.pools.push_back({PoolId(i), Footprint::InTokens(Tokens(16))});
    replica.gpus = {i};
    replica.prior = StepCoefficients{11, 0.034, 0.08, 0.057, 1.86};
    replica.max_context = Tokens(32'768);
    fleet.replicas.push_back(replica);
  }
  return fleet;
}

// A fleet that runs as much as fits, and its queue.
class Saturated {
 public:
  explicit Saturated(const benchmark::State& state)
      : replicas_(static_cast<uint32_t>(state.range(0))), most_waiting_(static_cast<uint64_t>(state.range(1))) {
    Apply(FleetChanged{MakeFleet(replicas_)});
    for (uint32_t i = 0; i < replicas_; ++i) Apply(ReplicaHealth{ReplicaId(i), Health::kUp});
    while (waiting_ < most_waiting_) {
      Arrive();
      // First tokens empty the runway, so that memory is what everything waits for in the end.
      while (!prefilling_.empty()) {
        const RequestId request = prefilling_.front();
        prefilling_.pop_front();
        Apply(FirstToken{request});
      }
    }
    // All streams have seen a step.
    for (uint32_t i = 0; i < 2 * replicas_; ++i) Step();
    costs_us_.clear();
    allocated_ = 0;
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
    Apply(Progress{{{ReplicaId(static_cast<uint32_t>(turn_++ % replicas_)), 1, now_}}, {}});
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
  int64_t running() const { return static_cast<int64_t>(running_.size()); }
  int64_t allocated() const { return allocated_; }
  const std::vector<double>& costs_us() const { return costs_us_; }

 private:
  void Apply(const Event& event) {
    actions_.clear();
    const int64_t allocated = allocations;
    const double from = CpuMicroseconds();
    core_.Apply(event, now_, actions_);
    const double took = CpuMicroseconds() - from;
    allocated_ += allocations - allocated;
    costs_us_.push_back(took);
    for (const Action& action : actions_) {
      if (const auto* forward = std::get_if<Forward>(&action)) {
        running_.push_back(forward->request);
        prefilling_.push_back(forward->request);
        --waiting_;
      }
    }
  }

  const uint32_t replicas_;
  const uint64_t most_waiting_;
  PenstockCore core_;
  Instant now_ = Instant::FromSeconds(1);
  uint64_t next_ = 1;
  uint64_t waiting_ = 0;
  uint64_t turn_ = 0;
  int64_t allocated_ = 0;
  std::deque<RequestId> running_;
  std::deque<RequestId> prefilling_;
  std::vector<Action> actions_;
  std::vector<double> costs_us_;
};

constexpr int kRuns = 5;
constexpr int kEvents = 20'000;

template <class OneEvent>
void Run(benchmark::State& state, const OneEvent& one_event) {
  std::vector<double> least;
  for (auto _ : state) {
    for (int run = 0; run < kRuns; ++run) {
      Saturated fleet(state);
      for (int i = 0; i < kEvents; ++i) one_event(fleet);
      if (run == 0) least = fleet.costs_us();
      std::transform(least.begin(), least.end(), fleet.costs_us().begin(), least.begin(),
                     [](double a, double b) { return std::min(a, b); });
      state.counters["running"] = static_cast<double>(fleet.running());
      state.counters["allocations"] = static_cast<double>(fleet.allocated()) / static_cast<double>(least.size());
    }
  }
  std::sort(least.begin(), least.end());
  state.counters["p50_us"] = least[least.size() / 2];
  state.counters["p99_us"] = least[least.size() * 99 / 100];
  state.counters["p99.9_us"] = least[least.size() * 999 / 1000];
  state.counters["max_us"] = least.back();
}

void Arrival(benchmark::State& state) {
  Run(state, [](Saturated& fleet) { fleet.Arrive(); });
}
void ProgressSample(benchmark::State& state) {
  Run(state, [](Saturated& fleet) { fleet.Step(); });
}
void FinishAndRefill(benchmark::State& state) {
  Run(state, [](Saturated& fleet) {
    fleet.FinishOne();
    fleet.Arrive();
  });
}

// Replicas, requests waiting.
void Sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"replicas", "waiting"})->Args({8, 1'000})->Args({64, 10'000})->Args({256, 10'000});
}
BENCHMARK(Arrival)->Apply(Sizes)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(ProgressSample)->Apply(Sizes)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(FinishAndRefill)->Apply(Sizes)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace penstock

BENCHMARK_MAIN();
