#include "bench/simulation/hindsight_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "bench/simulation/fluid_bound.h"
#include "bench/simulation/hindsight_work.h"

namespace penstock::bench {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// Prices per second of GPU time and per second of a pool, by slot.
struct Prices {
  std::vector<double> gpu;
  std::vector<double> pool;
};

// The supply of each fluid by slot.
struct Slots {
  double length = 1;
  std::vector<double> gpu;
  std::vector<double> pool;

  size_t At(double seconds) const {
    return std::min(gpu.size() - 1, static_cast<size_t>(std::max(0.0, seconds / length)));
  }
};

class Hindsight {
 public:
  Hindsight(const SimulatedFleetSpec& spec, const std::vector<SimulatedArrival>& arrivals, double window,
            const HindsightOptions& options)
      : spec_(spec), window_(window), options_(options) {
    TakeRequests(arrivals);
    CutTime();
  }

  double TokensPerSecond() {
    if (works_.empty()) return 0;
    Prices prices = BestUniform();
    double least = Evaluate(prices);
    // Bursts bind in short intervals, so prices move in one interval after the other, from long ones to short ones.
    const auto slots = slots_.gpu.size();
    for (size_t length = slots; length > 0; length /= 2) {
      for (size_t start = 0; start + length <= slots; start += std::max<size_t>(1, length / 2)) {
        if (!IsBusy(start, length)) continue;
        for (const double part : {1.0, 0.5, 0.25, -0.25}) least = TryMove(prices, start, length, part, least);
      }
    }
    return least / window_;
  }

 private:
  void TakeRequests(const std::vector<SimulatedArrival>& arrivals);
  void CutTime();
  double GpuSupply() const;
  double PoolSupply() const;
  double TokenCost() const;
  double TokenHeld() const;
  Prices BestUniform();
  double Evaluate(const Prices& prices);
  double ValueOf(const HindsightWork& work, const Prices& prices);
  // The request as pieces_.
  void Cut(const HindsightWork& work, const Prices& prices);
  // Moves the prices of GPU time in an interval by a part of a token's mean cost, where that lowers the bound. The
  // bound.
  double TryMove(Prices& prices, size_t start, size_t length, double part, double least);
  // The work that arrives in the interval is more than half of its supply.
  bool IsBusy(size_t start, size_t length) const;

  // The tokens of a request that are due in one slot, at the least prices until then.
  struct Piece {
    double tokens = 0;
    double value = 0;    // Beyond their cost; 0: they are not worth it.
    double prefill = 0;  // The cost of the prompt until then.
  };

  const SimulatedFleetSpec& spec_;
  double window_;
  HindsightOptions options_;
  std::vector<HindsightWork> works_;
  std::vector<double> worth_;  // The time of the best replica that a second saves at most, by GPU.
  Slots slots_;
  std::vector<Piece> pieces_;  // Filled and emptied within one call.
};

void Hindsight::TakeRequests(const std::vector<SimulatedArrival>& arrivals) {
  const std::vector<MeanLengths> means = MeanLengthsOf(spec_.fleet, arrivals);
  absl::flat_hash_set<uint64_t> seen;
  worth_.assign(spec_.gpus.size(), 0);
  for (const SimulatedArrival& arrival : arrivals) {
    const PrefillWork prefill = NewPrefill(arrival, seen);
    const ClassSpec& goals = spec_.fleet.classes[arrival.service_class.value()];
    HindsightWork least;
    double fastest = kUnbounded;
    double held = kUnbounded;
    std::vector<std::pair<size_t, HindsightWork>> choices;
    for (size_t i = 0; i < spec_.replicas.size(); ++i) {
      if (!spec_.fleet.replicas[i].Serves(arrival.model)) continue;
      const HindsightWork here =
          HindsightWorkOn(spec_.replicas[i], arrival, goals, means[arrival.model.value()], prefill);
      choices.emplace_back(i, here);
      held = std::min(held, here.held_grows);
      if (here.GpuSeconds() >= fastest) continue;
      fastest = here.GpuSeconds();
      least = here;
    }
    if (choices.empty()) continue;
    // The pool that is largest for it need not be that of the fastest GPU.
    least.held *= held / std::max(least.held_grows, 1e-300);
    least.held_grows = held;
    for (const auto& [replica, here] : choices) {
      for (const int gpu : spec_.replicas[replica].gpus) worth_[gpu] = std::max(worth_[gpu], least.WorthOf(here));
    }
    works_.push_back(least);
  }
}

double Hindsight::GpuSupply() const {
  double supply = 0;
  for (size_t gpu = 0; gpu < worth_.size(); ++gpu) supply += worth_[gpu] * WorkPerSecond(spec_, gpu);
  return supply;
}

double Hindsight::PoolSupply() const {
  std::set<int> shared;
  double supply = 0;
  for (const SimulatedReplica& replica : spec_.replicas) {
    if (replica.elastic < 0) ++supply;
    if (replica.elastic >= 0) shared.insert(replica.elastic);
  }
  return supply + static_cast<double>(shared.size());
}

void Hindsight::CutTime() {
  slots_.length = window_ / options_.slots;
  double end = window_;
  for (const HindsightWork& work : works_) end = std::max(end, work.DueOf(work.output));
  const double after = std::ceil((end - window_) / slots_.length);
  const auto count = static_cast<size_t>(options_.slots + std::min<double>(options_.slots, after));
  slots_.gpu.assign(count, slots_.length * GpuSupply());
  slots_.pool.assign(count, slots_.length * PoolSupply());
  // The last slot lasts until the last token is due.
  const double rest = std::max(1.0, end / slots_.length - static_cast<double>(count) + 1);
  slots_.gpu.back() *= rest;
  slots_.pool.back() *= rest;
}

double Hindsight::TokenCost() const {
  double cost = 0, tokens = 0;
  for (const HindsightWork& work : works_) cost += work.GpuSeconds(), tokens += work.output;
  return std::max(cost, 1e-12) / tokens;
}

double Hindsight::TokenHeld() const {
  double held = 0, tokens = 0;
  for (const HindsightWork& work : works_) {
    held += work.output * (work.held + work.held_grows * work.output / 2);
    tokens += work.output;
  }
  return std::max(held, 1e-12) / tokens;
}

Prices Hindsight::BestUniform() {
  Prices best;
  double least = kUnbounded;
  for (const double gpu : {0.0, 0.15, 0.3, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 4.0}) {
    for (const double pool : {0.0, 0.1, 0.3, 0.6, 1.0, 2.0}) {
      Prices prices;
      prices.gpu.assign(slots_.gpu.size(), gpu / TokenCost());
      prices.pool.assign(slots_.pool.size(), pool / TokenHeld());
      const double bound = Evaluate(prices);
      if (bound >= least) continue;
      least = bound;
      best = std::move(prices);
    }
  }
  return best;
}

double Hindsight::Evaluate(const Prices& prices) {
  double bound = 0;
  for (size_t i = 0; i < slots_.gpu.size(); ++i) {
    bound += prices.gpu[i] * slots_.gpu[i] + prices.pool[i] * slots_.pool[i];
  }
  for (const HindsightWork& work : works_) bound += ValueOf(work, prices);
  return bound;
}

double Hindsight::TryMove(Prices& prices, size_t start, size_t length, double part, double least) {
  std::vector<double> before = prices.gpu;
  const double step = part / TokenCost();
  for (size_t i = start; i < start + length; ++i) prices.gpu[i] = std::max(0.0, prices.gpu[i] + step);
  const double bound = Evaluate(prices);
  if (bound < least) return bound;
  prices.gpu = std::move(before);
  return least;
}

bool Hindsight::IsBusy(size_t start, size_t length) const {
  double supply = 0;
  for (size_t i = start; i < start + length; ++i) supply += slots_.gpu[i];
  double demand = 0;
  for (const HindsightWork& work : works_) {
    const size_t arrival = slots_.At(work.at);
    if (arrival >= start && arrival < start + length) demand += work.GpuSeconds();
  }
  return 2 * demand > supply;
}

void Hindsight::Cut(const HindsightWork& work, const Prices& prices) {
  pieces_.clear();
  size_t slot = slots_.At(work.at);
  size_t gpu_slot = slot;
  size_t pool_slot = slot;
  for (double number = 0; number < work.output;) {
    for (const size_t due = slots_.At(work.DueOf(number)); slot < due;) {
      ++slot;
      if (prices.gpu[slot] < prices.gpu[gpu_slot]) gpu_slot = slot;
      if (prices.pool[slot] < prices.pool[pool_slot]) pool_slot = slot;
    }
    double next = work.output;
    if (slot + 1 < slots_.gpu.size() && work.tpot > 0) {
      const double end = static_cast<double>(slot + 1) * slots_.length;
      next = std::clamp(std::ceil((end - work.at - work.ttft) / work.tpot), number + 1, work.output);
    }
    // Each costs at least what the first of them does; the first token of all comes with the prompt.
    const double paid = next - std::max(number, 1.0);
    const double gpu_seconds = work.token + work.token_grows * number;
    const double pool_seconds = work.held + work.held_grows * number;
    const double cost = prices.gpu[gpu_slot] * gpu_seconds + prices.pool[pool_slot] * pool_seconds;
    Piece piece;
    piece.tokens = next - number;
    piece.value = (piece.tokens - paid) + paid * std::max(0.0, 1 - cost);
    piece.prefill = prices.gpu[gpu_slot] * work.prefill;
    pieces_.push_back(piece);
    number = next;
  }
}

double Hindsight::ValueOf(const HindsightWork& work, const Prices& prices) {
  Cut(work, prices);
  double best = 0;
  double sum = 0;
  for (auto piece = pieces_.rbegin(); piece != pieces_.rend(); ++piece) {
    sum += piece->value;
    best = std::max(best, sum - piece->prefill);
  }
  return best;
}

}  // namespace

double HindsightBound(const SimulatedFleetSpec& spec, const std::vector<SimulatedArrival>& arrivals, Duration window,
                      const HindsightOptions& options) {
  return Hindsight(spec, arrivals, window.seconds(), options).TokensPerSecond();
}

}  // namespace penstock::bench
