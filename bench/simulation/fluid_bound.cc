#include "bench/simulation/fluid_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "router/core/contract/event.h"

namespace penstock::bench {
namespace {

// KV tokens that a replica's cache can hold at most, alone on its memory.
Tokens PoolOf(const SimulatedReplica& replica) { return replica.limits.kv_tokens; }

double RowsOf(const SimulatedReplica& replica, const MeanLengths& lengths) {
  const double held = std::max(1.0, lengths.prompt + lengths.output / 2);
  return std::clamp(PoolOf(replica).AsDouble() / held, 1.0, static_cast<double>(replica.limits.max_sequences));
}

struct Draw {
  double tokens = 0;
  double cost = 0;
  bool outlasts = false;  // Its last token may be due after the window.
};

// The supply of a fluid within the window, and the draws after it of requests that outlast it.
double Budget(const std::vector<Draw>& draws, double window, double longest, double supply) {
  double after = 0;
  for (const Draw& draw : draws) after += draw.outlasts ? draw.cost : 0;
  return window * supply + std::min(after, longest * supply);
}

// Most tokens within `budget`, best ratio first, the last one in part.
double Fill(std::vector<Draw> draws, double budget) {
  std::sort(draws.begin(), draws.end(),
            [](const Draw& a, const Draw& b) { return a.tokens * b.cost > b.tokens * a.cost; });
  double tokens = 0;
  for (const Draw& draw : draws) {
    if (draw.cost >= budget) return tokens + draw.tokens * budget / std::max(draw.cost, 1e-12);
    tokens += draw.tokens;
    budget -= draw.cost;
  }
  return tokens;
}

}  // namespace

double WorkPerSecond(const SimulatedFleetSpec& spec, size_t gpu) {
  if (spec.gpus[gpu] != simulated::Sharing::kMps) return 1;
  const auto on_it = std::count_if(spec.replicas.begin(), spec.replicas.end(), [&](const SimulatedReplica& replica) {
    return std::find(replica.gpus.begin(), replica.gpus.end(), static_cast<int>(gpu)) != replica.gpus.end();
  });
  // Each has an equal part of the GPU, and decodes by the least slowdown that such a part allows.
  const auto count = static_cast<double>(std::max<int64_t>(1, on_it));
  return count / simulated::MpsCap(1 / count, 0);
}

PrefillWork NewPrefill(const SimulatedArrival& arrival, absl::flat_hash_set<uint64_t>& seen) {
  int64_t known = 0;
  bool leading = true;
  for (const uint64_t block : arrival.prefix) {
    leading = leading && seen.contains(block);
    known += leading ? 1 : 0;
    seen.insert(block);
  }
  return UncachedPrefill(kPrefixBlock * known, arrival.prompt);
}

std::vector<MeanLengths> MeanLengthsOf(const Fleet& fleet, const std::vector<SimulatedArrival>& arrivals) {
  std::vector<MeanLengths> means(fleet.models.size());
  for (const SimulatedArrival& arrival : arrivals) {
    MeanLengths& mean = means[arrival.model.value()];
    mean.prompt += arrival.prompt.AsDouble();
    mean.output += arrival.output.AsDouble();
    mean.requests += 1;
  }
  for (MeanLengths& mean : means) {
    mean.prompt /= std::max(1.0, mean.requests);
    mean.output /= std::max(1.0, mean.requests);
  }
  return means;
}

double RooflineTokensPerSecond(const SimulatedReplica& replica, Tokens pool, const MeanLengths& lengths) {
  if (lengths.requests == 0) return 0;
  const double held = lengths.prompt + lengths.output / 2;
  const double rows =
      std::clamp(pool.AsDouble() / std::max(1.0, held), 1.0, static_cast<double>(replica.limits.max_sequences));
  const double step = replica.coefficients.DecodeMs(rows, rows * held);
  return 1000 * rows / step;
}

std::vector<double> GpuRooflines(const SimulatedFleetSpec& spec, const std::vector<SimulatedArrival>& arrivals) {
  const std::vector<MeanLengths> means = MeanLengthsOf(spec.fleet, arrivals);
  std::vector<double> weights(spec.gpus.size(), 0);
  std::vector<double> inverse(spec.gpus.size(), 0);
  for (size_t i = 0; i < spec.replicas.size(); ++i) {
    const SimulatedReplica& replica = spec.replicas[i];
    const ModelId model = spec.fleet.replicas[i].models.front();
    const MeanLengths& mean = means[model.value()];
    const double rate = RooflineTokensPerSecond(replica, PoolOf(replica), mean);
    if (rate <= 0 || replica.gpus.empty()) continue;
    const auto servers = std::count_if(spec.fleet.replicas.begin(), spec.fleet.replicas.end(),
                                       [&](const ReplicaSpec& other) { return other.Serves(model); });
    // A replica on several GPUs makes its tokens once.
    const auto gpus = static_cast<double>(replica.gpus.size());
    const double weight = mean.output * mean.requests / static_cast<double>(servers) / gpus;
    for (const int gpu : replica.gpus) {
      weights[gpu] += weight;
      inverse[gpu] += weight * gpus / rate;
    }
  }
  std::vector<double> rates(spec.gpus.size(), 0);
  for (size_t gpu = 0; gpu < rates.size(); ++gpu) rates[gpu] = inverse[gpu] > 0 ? weights[gpu] / inverse[gpu] : 0;
  return rates;
}

double FleetRoofline(const SimulatedFleetSpec& spec, const std::vector<SimulatedArrival>& arrivals) {
  double sum = 0;
  for (const double rate : GpuRooflines(spec, arrivals)) sum += rate;
  return sum;
}

double FluidBound(const SimulatedFleetSpec& spec, const std::vector<SimulatedArrival>& arrivals, Duration window) {
  const std::vector<MeanLengths> means = MeanLengthsOf(spec.fleet, arrivals);
  absl::flat_hash_set<uint64_t> seen;
  std::vector<Draw> gpu_time, memory;
  double longest = 0;
  for (const SimulatedArrival& arrival : arrivals) {
    const double output = arrival.output.AsDouble();
    const PrefillWork prefill = NewPrefill(arrival, seen);
    const double held = arrival.prompt.AsDouble() + output / 2;
    double work = std::numeric_limits<double>::infinity();
    double share_seconds = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < spec.replicas.size(); ++i) {
      if (!spec.fleet.replicas[i].Serves(arrival.model)) continue;
      const SimulatedReplica& replica = spec.replicas[i];
      const StepCoefficients& step = replica.coefficients;
      const double rows = RowsOf(replica, means[arrival.model.value()]);
      const double gpus = static_cast<double>(std::max<size_t>(1, replica.gpus.size()));
      const double here = (step.PrefillMs(prefill) + output * (step.a / rows + step.b + step.c * held * 1e-3)) / 1000;
      work = std::min(work, here * gpus);
      share_seconds = std::min(share_seconds, held / PoolOf(replica).AsDouble() * output * (step.a + step.b) / 1000);
    }
    const ClassSpec& goals = spec.fleet.classes[arrival.service_class.value()];
    const double life = goals.ttft.seconds() + goals.tpot.seconds() * output;
    const bool outlasts = arrival.at.seconds() + life > window.seconds();
    longest = std::max(longest, life);
    gpu_time.push_back({output, work, outlasts});
    memory.push_back({output, share_seconds, outlasts});
  }
  double gpus = 0;
  for (size_t gpu = 0; gpu < spec.gpus.size(); ++gpu) gpus += WorkPerSecond(spec, gpu);
  const double time = Budget(gpu_time, window.seconds(), longest, gpus);
  const double room = Budget(memory, window.seconds(), longest, static_cast<double>(spec.replicas.size()));
  return std::min(Fill(std::move(gpu_time), time), Fill(std::move(memory), room)) / window.seconds();
}

}  // namespace penstock::bench
