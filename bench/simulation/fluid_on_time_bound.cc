#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "bench/simulation/fluid_bound.h"
#include "kvmodel/step_model.h"

namespace penstock::bench {
namespace {

constexpr double kSecondsPerMs = 1e-3;
constexpr double kNever = std::numeric_limits<double>::infinity();
// Intervals begin at every kStarts-th of the window and are a whole number of such parts long.
constexpr int kStarts = 60;
constexpr int kLengths[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40, 48, 60};

// A request's demand on the replica that is fastest for it, in seconds of a GPU.
struct Demand {
  double at = 0;
  double ttft = 0;
  double tpot = 0;
  double output = 0;
  double prefill = 0;
  double token = 0;   // Without what it attends to.
  double attend = 0;  // Per token attended to.
  double prompt = 0;

  double DueBy(double end) const {
    if (at + ttft > end) return 0;
    const double tokens = tpot > 0 ? std::min(output, 1 + (end - at - ttft) / tpot) : output;
    return prefill + tokens * (token + attend * (prompt + tokens / 2));
  }
};

Demand DemandOn(const SimulatedReplica& replica, const SimulatedArrival& arrival, const ClassSpec& goals,
                const MeanLengths& mean, const PrefillWork& prefill) {
  const StepCoefficients& step = replica.coefficients;
  const bool slow = replica.slow_from == Duration() && replica.slow_to == Duration::Infinite();
  const double gpus = static_cast<double>(std::max<size_t>(1, replica.gpus.size()));
  const double unit = kSecondsPerMs * gpus * (slow ? replica.slowdown : 1);
  const double rows = std::max(1, replica.limits.max_sequences);
  const double pool = std::max(1.0, replica.limits.kv_tokens.AsDouble());
  // At most `rows` sequences share a step's floor, and they hold at most the pool. A sequence's share counts by either,
  // and the shares sum to one at most.
  const bool memory_binds = (mean.prompt + mean.output / 2) * rows > pool;
  Demand demand;
  demand.at = arrival.at.seconds();
  demand.ttft = goals.ttft.seconds();
  demand.tpot = goals.tpot.seconds();
  demand.output = arrival.output.AsDouble();
  demand.prompt = arrival.prompt.AsDouble();
  demand.prefill = unit * step.PrefillMs(prefill);
  demand.token = unit * (step.b + (memory_binds ? 0 : step.a / rows));
  demand.attend = unit * (step.c * kSecondsPerMs + (memory_binds ? step.a / pool : 0));
  return demand;
}

// The number of requests to give up so that the rest fits, at least `least`. Uses up `draws`.
size_t GivenUp(std::vector<double>& draws, double supply, size_t least) {
  if (draws.size() <= least) return least;
  const auto rest = draws.begin() + static_cast<std::ptrdiff_t>(least);
  std::nth_element(draws.begin(), rest, draws.end(), std::greater<>());
  double sum = std::accumulate(rest, draws.end(), 0.0);
  if (sum <= supply) return least;
  std::sort(rest, draws.end(), std::greater<>());
  size_t count = least;
  while (sum > supply && count < draws.size()) sum -= draws[count++];
  return count;
}

struct Fluid {
  std::vector<Demand> demands;  // Ordered by arrival.
  double supply = 0;            // Seconds of the fastest replica's GPU per second.
};

Fluid FluidOf(const SimulatedFleetSpec& spec, const std::vector<SimulatedArrival>& arrivals) {
  Fluid fluid;
  const std::vector<MeanLengths> means = MeanLengthsOf(spec.fleet, arrivals);
  absl::flat_hash_set<uint64_t> seen;
  std::vector<double> worth(spec.gpus.size(), 0);
  for (const SimulatedArrival& arrival : arrivals) {
    const PrefillWork prefill = NewPrefill(arrival, seen);
    if (!IsFeasible(spec, arrival)) continue;
    const ClassSpec& goals = spec.fleet.classes[arrival.service_class.value()];
    Demand least;
    double fastest = kNever;
    std::vector<std::pair<size_t, double>> costs;
    for (size_t i = 0; i < spec.replicas.size(); ++i) {
      if (!spec.fleet.replicas[i].Serves(arrival.model)) continue;
      const Demand here = DemandOn(spec.replicas[i], arrival, goals, means[arrival.model.value()], prefill);
      const double cost = here.DueBy(kNever);
      costs.emplace_back(i, cost);
      if (cost >= fastest) continue;
      fastest = cost;
      least = here;
    }
    for (const auto& [replica, cost] : costs) {
      for (const int gpu : spec.replicas[replica].gpus) worth[gpu] = std::max(worth[gpu], fastest / cost);
    }
    fluid.demands.push_back(least);
  }
  for (size_t gpu = 0; gpu < worth.size(); ++gpu) fluid.supply += worth[gpu] * WorkPerSecond(spec, gpu);
  return fluid;
}

// The time after its arrival that an answer on time may take.
Duration LatestEnd(const ClassSpec& goals, Tokens output) {
  if (goals.tpot <= Duration()) return Duration::Infinite();
  return goals.ttft + Duration::Seconds(goals.tpot.seconds() * output.AsDouble());
}

}  // namespace

bool IsFeasible(const SimulatedFleetSpec& spec, const SimulatedArrival& arrival) {
  const ClassSpec& goals = spec.fleet.classes[arrival.service_class.value()];
  if (arrival.vanishes && *arrival.vanishes < LatestEnd(goals, arrival.output)) return false;
  const double goal = goals.ttft.seconds();
  for (size_t i = 0; i < spec.replicas.size(); ++i) {
    if (!spec.fleet.replicas[i].Serves(arrival.model)) continue;
    const simulated::EngineLimits& limits = spec.replicas[i].limits;
    const bool unlimited = limits.max_context <= Tokens(0) || limits.max_context > limits.kv_tokens;
    if (arrival.prompt >= (unlimited ? limits.kv_tokens : limits.max_context)) continue;
    const PrefillWork prefill = PrefillOf(Tokens(0), arrival.prompt);
    if (FirstTokenAlone(spec.replicas[i].coefficients, prefill, limits.batch_budget) <= goal) return true;
  }
  return false;
}

double FluidOnTimeBound(const SimulatedFleetSpec& spec, const std::vector<SimulatedArrival>& arrivals,
                        Duration window) {
  const Fluid fluid = FluidOf(spec, arrivals);
  const double part = window.seconds() / kStarts;
  size_t most = 0;
  std::vector<double> draws;
  for (int start = 0; start < kStarts; ++start) {
    const double from = start * part;
    const auto first = std::lower_bound(fluid.demands.begin(), fluid.demands.end(), from,
                                        [](const Demand& demand, double at) { return demand.at < at; });
    for (const int length : kLengths) {
      const double end = from + length * part;
      draws.clear();
      for (auto demand = first; demand != fluid.demands.end() && demand->at < end; ++demand) {
        const double due = demand->DueBy(end);
        if (due > 0) draws.push_back(due);
      }
      most = GivenUp(draws, length * part * fluid.supply, most);
    }
  }
  if (fluid.demands.empty()) return 1;
  return 1 - static_cast<double>(most) / static_cast<double>(fluid.demands.size());
}

}  // namespace penstock::bench
