// Two independent counts of a pool's growth: an enumeration of every outcome of small pools, and random draws.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "kvmodel/growth_forecast.h"

namespace penstock {
namespace {

constexpr Instant kMade = Instant::FromSeconds(50);

struct Moments {
  double mean = 0;
  double variance = 0;
};
using Grid = std::array<Moments, kHorizons>;

// A member and its distribution of lengths: `ends[i]` holds the tokens of the i-th outcome, `chances[i]` its chance.
struct TwinMember {
  GrowthMember member;
  std::vector<double> ends;
  std::vector<double> chances;
};

double GeneratedAt(const GrowthMember& member, int horizon) {
  return member.generated +
         member.pace.TokensIn(member.starts_in, std::max(member.starts_in, HorizonSeconds()[horizon]));
}

// The memory of one member that is alive at a horizon; `prompt_error` is the relative error of its prompt's memory.
double MemoryOf(const GrowthMember& member, int horizon, double prompt_error) {
  const double prompt = member.footprint.Expected(member.prompt);
  const double one = member.footprint.Expected(member.prompt + GeneratedAt(member, horizon));
  return one + (member.sequences - 1) * (one - prompt) + prompt_error * prompt;
}

bool IsAlive(const GrowthMember& member, int horizon, double end) {
  return horizon == 0 || GeneratedAt(member, horizon) < std::min(end, member.output_cap);
}

// Adds every joint outcome of the members from `next` on. Prompts err by +-sigma with equal chance.
void Enumerate(const std::vector<TwinMember>& members, size_t next, int horizon, double chance, double memory,
               double& sum, double& squares) {
  if (next == members.size()) {
    sum += chance * memory;
    squares += chance * memory * memory;
    return;
  }
  const TwinMember& twin = members[next];
  for (size_t i = 0; i < twin.ends.size(); ++i) {
    for (const double sign : {-1.0, 1.0}) {
      const bool alive = IsAlive(twin.member, horizon, twin.ends[i]);
      const double own = alive ? MemoryOf(twin.member, horizon, sign * twin.member.prompt_sigma) : 0;
      Enumerate(members, next + 1, horizon, chance * twin.chances[i] / 2, memory + own, sum, squares);
    }
  }
}

Grid Enumerated(const std::vector<TwinMember>& members) {
  Grid grid;
  for (int horizon = 0; horizon < kHorizons; ++horizon) {
    double sum = 0;
    double squares = 0;
    Enumerate(members, 0, horizon, 1, 0, sum, squares);
    grid[horizon] = {sum, squares - sum * sum};
  }
  return grid;
}

Grid Forecast(const std::vector<GrowthMember>& members) {
  Grid grid;
  for (const GrowthMember& member : members) {
    const GrowthVector contribution = ContributionOf(member);
    for (int horizon = 0; horizon < kHorizons; ++horizon) {
      grid[horizon].mean += contribution.mean[horizon];
      grid[horizon].variance += contribution.variance[horizon];
    }
  }
  return grid;
}

// A pool of up to four members whose lengths end in one of three bins or beyond. No horizon and no present count lies
// in one of these bins, so all lengths of a bin are one outcome.
class SmallPool {
 public:
  explicit SmallPool(std::mt19937_64& random) : random_(random) {
    const size_t count = 1 + random_() % 4;
    curves_.reserve(count);
    for (size_t i = 0; i < count; ++i) Add();
  }

  const std::vector<TwinMember>& members() const { return members_; }

 private:
  double Uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }

  GrowthMember DrawMember() {
    GrowthMember member;
    member.footprint = Footprint::InTokens(Tokens(16));
    member.footprint.constant = static_cast<double>(random_() % 3) * 40;
    member.prompt = std::floor(Uniform(1, 4000));
    member.prompt_sigma = Uniform(0, 0.1);
    member.generated = std::floor(Uniform(0, 300));
    member.output_cap = member.generated + std::floor(Uniform(10, 5000));
    member.sequences = 1 + static_cast<int>(random_() % 3);
    member.pace = {Uniform(5, 80), Uniform(5, 80)};
    member.starts_in = random_() % 3 == 0 ? Uniform(0, 4) : 0;
    return member;
  }

  // Bins above the present count that hold no horizon, in ascending order.
  std::vector<int> FreeBins(const GrowthMember& member) {
    std::vector<bool> taken(kOutputBins, false);
    for (int bin = 0; bin <= OutputBin(std::max(17.0, member.generated)); ++bin) taken[bin] = true;
    for (int horizon = 0; horizon < kHorizons; ++horizon) taken[OutputBin(GeneratedAt(member, horizon))] = true;
    std::vector<int> bins;
    const int highest = OutputBin(member.generated + 3000);
    while (bins.size() < 3) {
      const int bin = static_cast<int>(random_() % static_cast<uint64_t>(highest));
      if (!taken[bin] && std::find(bins.begin(), bins.end(), bin) == bins.end()) bins.push_back(bin);
    }
    std::sort(bins.begin(), bins.end());
    return bins;
  }

  void Add() {
    TwinMember& twin = members_.emplace_back();
    twin.member = DrawMember();
    std::array<double, kOutputBins> hazard{};
    double left = 1;
    for (const int bin : FreeBins(twin.member)) {
      hazard[bin] = Uniform(0.1, 0.9);
      twin.ends.push_back(OutputBinLower(bin));
      twin.chances.push_back(left * hazard[bin]);
      left *= 1 - hazard[bin];
    }
    twin.ends.push_back(1e9);
    twin.chances.push_back(left);
    curves_.emplace_back(hazard);
    twin.member.curve = &curves_.back();
  }

  std::mt19937_64& random_;
  std::vector<SurvivalCurve> curves_;  // Reserved: members point into it.
  std::vector<TwinMember> members_;
};

TEST(GrowthTwin, MeanAndVarianceEqualTheSumOverEveryOutcome) {
  constexpr uint64_t kSeed = 2024;
  std::mt19937_64 random(kSeed);
  // Contributions are floats.
  constexpr double kRelative = 2e-6;
  for (int pool = 0; pool < 40; ++pool) {
    SCOPED_TRACE(::testing::Message() << "seed " << kSeed << ", pool " << pool);
    const SmallPool drawn(random);
    std::vector<GrowthMember> members;
    for (const TwinMember& twin : drawn.members()) members.push_back(twin.member);
    const Grid exact = Enumerated(drawn.members());
    const Grid forecast = Forecast(members);
    for (int i = 0; i < kHorizons; ++i) {
      ASSERT_NEAR(forecast[i].mean, exact[i].mean, kRelative * exact[i].mean) << "horizon " << i;
      const double scale = exact[i].variance + exact[i].mean * exact[i].mean;
      ASSERT_NEAR(forecast[i].variance, exact[i].variance, kRelative * scale) << "horizon " << i;
    }
  }
}

TEST(GrowthTwin, ThePeakIsTheHighestBoundOfTheEnumeratedMoments) {
  constexpr uint64_t kSeed = 77;
  constexpr double kZ = 1.3;
  std::mt19937_64 random(kSeed);
  for (int pool = 0; pool < 20; ++pool) {
    SCOPED_TRACE(::testing::Message() << "seed " << kSeed << ", pool " << pool);
    const SmallPool drawn(random);
    PoolGrowth growth;
    double rate = 0;
    for (const TwinMember& twin : drawn.members()) {
      growth.Add(ContributionOf(twin.member), kMade);
      rate +=
          twin.member.sequences *
          std::max(twin.member.pace.now, twin.member.pace.usual);  // One unit per token, before and after the first.
    }
    const Grid exact = Enumerated(drawn.members());
    const auto bound = [&](int i) { return exact[i].mean + kZ * std::sqrt(std::max(0.0, exact[i].variance)); };
    double peak = 0;
    for (int i = 0; i < kHorizons; ++i)
      peak = std::max(peak, std::min(bound(i), bound(0) + rate * HorizonSeconds()[i]));
    EXPECT_NEAR(growth.Peak(kZ, kMade), peak, 1e-4 * peak);
  }
}

// Outputs that halve every 2,000 tokens: one token's chance is below the tolerance of the draws.
SurvivalCurve LongOutputs() {
  std::array<double, kOutputBins> hazard{};
  for (int i = 0; i < kOutputBins; ++i) {
    const double tokens = OutputBinLower(i + 1) - OutputBinLower(i);
    if (OutputBinLower(i) >= 17) hazard[i] = 1 - std::pow(0.5, tokens / 2000);
  }
  return SurvivalCurve(hazard);
}

TEST(GrowthTwin, MeanAndVarianceAgreeWithRandomDraws) {
  constexpr uint64_t kSeed = 99;
  constexpr int kDraws = 20'000;
  constexpr double kSigmas = 5;  // 44 comparisons: a false alarm has a chance of 3e-5.
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  std::mt19937_64 random(kSeed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::normal_distribution<double> normal(0, 1);
  const SurvivalCurve curve = LongOutputs();
  std::vector<GrowthMember> members(12);
  for (GrowthMember& member : members) {
    member.footprint = Footprint::InTokens(Tokens(16));
    member.prompt = std::floor(200 + 3000 * uniform(random));
    member.prompt_sigma = 0.05;
    member.generated = std::floor(20 + 1000 * uniform(random));
    member.output_cap = 1e6;
    member.pace = {20 + 100 * uniform(random), 20 + 100 * uniform(random)};
    member.curve = &curve;
  }
  const Grid forecast = Forecast(members);
  std::array<std::vector<double>, kHorizons> held;
  for (std::vector<double>& values : held) values.assign(kDraws, 0);
  for (int draw = 0; draw < kDraws; ++draw) {
    for (const GrowthMember& member : members) {
      // A whole length, spread over its last token as the curve is.
      const double end = curve.Quantile(uniform(random), member.generated) - uniform(random);
      const double error = member.prompt_sigma * normal(random);
      for (int i = 0; i < kHorizons && IsAlive(member, i, end); ++i) held[i][draw] += MemoryOf(member, i, error);
    }
  }
  for (int i = 0; i < kHorizons; ++i) {
    double mean = 0;
    for (const double value : held[i]) mean += value / kDraws;
    double variance = 0;
    double fourth = 0;
    for (const double value : held[i]) {
      const double squared = (value - mean) * (value - mean);
      variance += squared / kDraws;
      fourth += squared * squared / kDraws;
    }
    const double mean_error = std::sqrt(variance / kDraws);
    const double variance_error = std::sqrt(std::max(0.0, fourth - variance * variance) / kDraws);
    EXPECT_NEAR(forecast[i].mean, mean, kSigmas * mean_error) << "horizon " << i;
    EXPECT_NEAR(forecast[i].variance, variance, kSigmas * variance_error) << "horizon " << i;
  }
}

}  // namespace
}  // namespace penstock
