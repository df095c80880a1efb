#include "bench/traces/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/generator.h"

namespace penstock::bench {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kSeed = 20'231'116;

Trace Generate(const std::string& name, double seconds, uint64_t seed = kSeed) {
  const auto trace = GenerateWorkload(name, Duration::Seconds(seconds), seed);
  EXPECT_TRUE(trace.ok()) << trace.status() << " seed " << seed;
  return *trace;
}

std::vector<double> Collect(const Trace& trace, const std::function<double(const TraceRequest&)>& value) {
  std::vector<double> values;
  for (const TraceRequest& request : trace.requests) values.push_back(value(request));
  std::sort(values.begin(), values.end());
  return values;
}

std::vector<double> Outputs(const Trace& trace) {
  return Collect(trace, [](const TraceRequest& request) { return request.output.AsDouble(); });
}

std::vector<double> Prompts(const Trace& trace) {
  return Collect(trace, [](const TraceRequest& request) { return request.prompt.AsDouble(); });
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double Quantile(const std::vector<double>& sorted, double q) {
  return sorted[static_cast<size_t>(q * static_cast<double>(sorted.size() - 1))];
}

// Kolmogorov-Smirnov distance of whole numbers to a distribution function, evaluated at x + 0.5.
double Distance(const std::vector<double>& sorted, const std::function<double(double)>& cdf) {
  double worst = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (i + 1 < sorted.size() && sorted[i + 1] == sorted[i]) continue;
    worst = std::max(worst,
                     std::fabs(static_cast<double>(i + 1) / static_cast<double>(sorted.size()) - cdf(sorted[i] + 0.5)));
  }
  return worst;
}

double VarianceOverMean(const Trace& trace, double window) {
  std::map<int64_t, double> counts;
  const auto windows = static_cast<int64_t>(trace.length.seconds() / window);
  for (int64_t i = 0; i < windows; ++i) counts[i] = 0;
  for (const TraceRequest& request : trace.requests) {
    const auto at = static_cast<int64_t>(request.arrival.seconds() / window);
    if (at < windows) ++counts[at];
  }
  double sum = 0, squares = 0;
  for (const auto& [at, count] : counts) sum += count, squares += count * count;
  const double mean = sum / static_cast<double>(windows);
  return (squares / static_cast<double>(windows) - mean * mean) / mean;
}

TEST(Generator, TheNormalQuantileInvertsTheDistributionFunction) {
  for (double p : {1e-12, 1e-6, 0.001, 0.02, 0.3, 0.5, 0.77, 0.999, 1 - 1e-9}) {
    EXPECT_NEAR(NormalCdf(NormalQuantile(p)), p, 1e-8 * std::min(p, 1 - p) + 1e-15) << p;
  }
  EXPECT_NEAR(NormalQuantile(0.975), 1.959963984540054, 1e-8);
}

TEST(Generator, GammaDrawsHaveTheirMeanAndShape) {
  for (double shape : {0.3, 2.5}) {
    Generator generator(kSeed);
    double sum = 0, squares = 0;
    constexpr int kDraws = 60'000;
    for (int i = 0; i < kDraws; ++i) {
      const double x = generator.Gamma(shape, 3);
      sum += x, squares += x * x;
    }
    const double mean = sum / kDraws;
    EXPECT_NEAR(mean, 3, 0.08) << "shape " << shape << " seed " << kSeed;
    EXPECT_NEAR((squares / kDraws - mean * mean) / (mean * mean), 1 / shape, 0.08 / shape) << "shape " << shape;
  }
}

TEST(Workload, EqualSeedsGiveEqualWorkloadsAndOthersDoNot) {
  for (const std::string& name : WorkloadNames()) {
    EXPECT_EQ(Generate(name, 120, 7).requests, Generate(name, 120, 7).requests) << name;
    EXPECT_NE(Generate(name, 120, 7).requests, Generate(name, 120, 8).requests) << name;
  }
}

TEST(Workload, ArrivalsAreSortedAndInsideTheLength) {
  for (const std::string& name : WorkloadNames()) {
    const Trace trace = Generate(name, 200);
    ASSERT_FALSE(trace.requests.empty()) << name;
    EXPECT_TRUE(std::is_sorted(trace.requests.begin(), trace.requests.end(), [](const auto& a, const auto& b) {
      return a.arrival < b.arrival;
    })) << name;
    EXPECT_GE(trace.requests.front().arrival, Duration()) << name;
    EXPECT_LT(trace.requests.back().arrival, Duration::Seconds(200)) << name;
  }
}

TEST(Workload, AnUnknownNameListsTheKnownOnes) {
  const auto trace = GenerateWorkload("azure", Duration::Seconds(1), 1);

  EXPECT_EQ(trace.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(trace.status().message()), HasSubstr("azure-conv"));
}

TEST(Workload, AzureConversationsHaveTheTracesRateAndBuckets) {
  const Trace trace = Generate("azure-conv", 3600);

  EXPECT_NEAR(static_cast<double>(trace.requests.size()) / 3600, 5.563, 0.45) << "seed " << kSeed;
  const auto share = [&](int64_t low, int64_t high) {
    return static_cast<double>(std::count_if(
               trace.requests.begin(), trace.requests.end(),
               [&](const TraceRequest& r) { return r.prompt >= Tokens(low) && r.prompt <= Tokens(high); })) /
           static_cast<double>(trace.requests.size());
  };
  EXPECT_NEAR(share(2, 63), 0.013, 0.005);
  EXPECT_NEAR(share(64, 255), 0.087, 0.01);
  EXPECT_NEAR(share(256, 511), 0.266, 0.015);
  EXPECT_NEAR(share(512, 2047), 0.479, 0.015);
  EXPECT_NEAR(share(2048, 14050), 0.155, 0.015);
  // The rate moves over minutes: more than Poisson, less than a burst.
  EXPECT_GT(VarianceOverMean(trace, 60), 2);
  EXPECT_LT(VarianceOverMean(trace, 60), 25);
}

TEST(Workload, AzureConversationOutputsFollowTheMixtureOfTheirPromptBucket) {
  const Trace whole = Generate("azure-conv", 3600);
  Trace bucket;
  for (const TraceRequest& request : whole.requests) {
    if (request.prompt >= Tokens(256) && request.prompt <= Tokens(511)) bucket.requests.push_back(request);
  }
  const LogNormalMixture mixture = {{0.10, 3.81, 0.82}, {0.90, 4.51, 0.24}};

  EXPECT_LT(Distance(Outputs(bucket), [&](double x) { return MixtureCdf(mixture, x); }), 0.03) << "seed " << kSeed;
  EXPECT_LE(Outputs(whole).back(), 1000);
  // The table of the trace: output p10/p50/p90 50/140/428, mean 221.
  EXPECT_NEAR(Quantile(Outputs(whole), 0.5), 140, 45);
  EXPECT_NEAR(Mean(Outputs(whole)), 221, 30);
  EXPECT_NEAR(Mean(Prompts(whole)), 1238, 150);
}

TEST(Workload, AzureCodeIsBurstyWithShortOutputs) {
  const Trace trace = Generate("azure-code", 7200);
  const LogNormalMixture outputs = {{0.67, 2.36, 0.38}, {0.34, 3.59, 0.89}};

  EXPECT_NEAR(static_cast<double>(trace.requests.size()) / 7200, 3.1, 1.0) << "seed " << kSeed;
  EXPECT_GT(VarianceOverMean(trace, 10), 30);
  EXPECT_LT(Distance(Outputs(trace), [&](double x) { return MixtureCdf(outputs, x); }), 0.03);
}

TEST(Workload, ChatHasFortyTenantsOfUnequalVolume) {
  const Trace trace = Generate("chat", 1800);

  std::map<std::string, int64_t> tenants;
  for (const TraceRequest& request : trace.requests) ++tenants[request.tenant];
  std::vector<int64_t> volumes;
  for (const auto& [tenant, count] : tenants) volumes.push_back(count);
  std::sort(volumes.rbegin(), volumes.rend());
  EXPECT_GT(tenants.size(), 30u);
  EXPECT_LE(tenants.size(), 40u);
  EXPECT_NEAR(static_cast<double>(trace.requests.size()) / 1800, 20, 6) << "seed " << kSeed;
  EXPECT_GT(static_cast<double>(volumes[0]) / static_cast<double>(trace.requests.size()), 0.12);
  EXPECT_GT(static_cast<double>(volumes[0]), 10.0 * static_cast<double>(volumes[volumes.size() / 2]));
}

TEST(Workload, ReasoningHasLongOutputsThatFallWithThePrompt) {
  const Trace trace = Generate("reasoning", 3600);
  const LogNormalMixture outputs = {{0.42, 5.97, 0.39}, {0.52, 6.46, 0.72}, {0.07, 8.99, 0.57}};

  EXPECT_LT(Distance(Outputs(trace), [&](double x) { return MixtureCdf(outputs, x); }), 0.03) << "seed " << kSeed;
  // The tail reaches far.
  EXPECT_GT(Quantile(Outputs(trace), 0.99), 5000);
  std::vector<double> after_short, after_long;
  const double middle = Quantile(Prompts(trace), 0.5);
  for (const TraceRequest& request : trace.requests) {
    (request.prompt.AsDouble() < middle ? after_short : after_long).push_back(std::log(request.output.AsDouble()));
  }
  EXPECT_GT(Mean(after_short), Mean(after_long) + 0.05);
}

TEST(Workload, AgentsRepeatTheirContextWithEachCallAndSendSomeCallsAtOnce) {
  const Trace trace = Generate("agentic", 1200);
  EXPECT_NEAR(static_cast<double>(trace.requests.size()) / 1200, 1, 0.5);
  const std::vector<double> prompts = Prompts(trace);
  EXPECT_GE(prompts.front(), 14'000);
  EXPECT_LE(prompts.back(), 128'000);
  std::set<uint64_t> seen;
  std::map<std::string, Duration> last;
  double blocks = 0, repeated = 0, at_once = 0;
  for (const TraceRequest& request : trace.requests) {
    EXPECT_LE(request.prefix_hashes.size(), static_cast<size_t>(request.prompt.value() / 512));
    for (const uint64_t hash : request.prefix_hashes) repeated += seen.insert(hash).second ? 0 : 1;
    blocks += static_cast<double>(request.prefix_hashes.size());
    const auto [before, is_new] = last.try_emplace(request.tenant, request.arrival);
    if (!is_new && request.arrival - before->second < Duration::Milliseconds(600)) ++at_once;
    before->second = request.arrival;
  }
  EXPECT_GT(repeated / blocks, 0.85);
  EXPECT_GT(at_once / static_cast<double>(trace.requests.size()), 0.1);
}

}  // namespace
}  // namespace penstock::bench
