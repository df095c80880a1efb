#include "bench/traces/workload.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/generator.h"
#include "bench/traces/workload_scenarios.h"

namespace penstock::bench {
namespace {

// A generated workload may not outgrow the machine.
constexpr size_t kMaxRequests = 5'000'000;

Tokens Rounded(double tokens, double low, double high) {
  return Tokens(static_cast<int64_t>(std::clamp(std::round(tokens), low, high)));
}

struct CoxRate {
  double mean = 1;         // Requests per second.
  double variation = 0.2;  // Coefficient of variation of the rate over `grid`.
  double correlation = 0.7;
  double grid = 10;  // Seconds.
};

// Arrival times of a Poisson process whose logarithmic rate is an AR(1) on a grid.
std::vector<double> CoxArrivals(const CoxRate& rate, double length, Generator& generator) {
  const double sigma = std::sqrt(std::log1p(rate.variation * rate.variation));
  double state = sigma * generator.Normal();
  std::vector<double> arrivals;
  for (double start = 0; start < length && arrivals.size() < kMaxRequests; start += rate.grid) {
    const double now = rate.mean * std::exp(state - sigma * sigma / 2);
    const double end = std::min(start + rate.grid, length);
    for (double t = start + generator.Exponential(1 / now); t < end; t += generator.Exponential(1 / now)) {
      arrivals.push_back(t);
    }
    state = rate.correlation * state + sigma * std::sqrt(1 - rate.correlation * rate.correlation) * generator.Normal();
  }
  return arrivals;
}

// --- azure-conv: the prompt's bucket first, then the output mixture of that bucket.

struct PromptBucket {
  double low;
  double high;
  double weight;
  LogNormalMixture output;
};

const std::vector<PromptBucket>& ConversationBuckets() {
  static const std::vector<PromptBucket> buckets = {
      {2, 63, 0.013, {{1.00, 5.03, 0.20}}},
      {64, 255, 0.087, {{0.17, 2.88, 0.69}, {0.83, 5.16, 0.22}}},
      {256, 511, 0.266, {{0.10, 3.81, 0.82}, {0.90, 4.51, 0.24}}},
      {512, 2047, 0.479, {{0.35, 5.16, 0.92}, {0.65, 6.01, 0.05}}},
      {2048, 14050, 0.155, {{0.49, 3.85, 0.30}, {0.51, 4.43, 0.53}}},
  };
  return buckets;
}

const PromptBucket& DrawBucket(Generator& generator) {
  double pick = generator.Uniform();
  for (const PromptBucket& bucket : ConversationBuckets()) {
    pick -= bucket.weight;
    if (pick <= 0) return bucket;
  }
  return ConversationBuckets().back();
}

// A draw from the mixture cut to [low, high], through the quantile function.
double DrawWithin(const LogNormalMixture& mixture, double low, double high, Generator& generator) {
  const double from = MixtureCdf(mixture, low - 0.5);
  const double to = MixtureCdf(mixture, high + 0.5);
  return MixtureQuantile(mixture, from + (to - from) * generator.Uniform());
}

void AzureConversation(double length, Generator& generator, std::vector<TraceRequest>& requests) {
  static const LogNormalMixture prompts = {{0.56, 6.24, 0.95}, {0.33, 6.98, 0.06}, {0.11, 8.32, 0.03}};
  for (double at : CoxArrivals({5.563, 0.19, 0.67, 10}, length, generator)) {
    const PromptBucket& bucket = DrawBucket(generator);
    TraceRequest request;
    request.arrival = Duration::Seconds(at);
    request.tenant = "azure-conv";
    request.prompt = Rounded(DrawWithin(prompts, bucket.low, bucket.high, generator), bucket.low, bucket.high);
    request.output = Rounded(DrawMixture(bucket.output, generator), 1, 1000);
    requests.push_back(std::move(request));
  }
}

// --- azure-code: on/off bursts.

void AzureCode(double length, Generator& generator, std::vector<TraceRequest>& requests) {
  static const LogNormalMixture prompts = {{0.29, 5.53, 1.27}, {0.70, 7.64, 0.73}};
  static const LogNormalMixture outputs = {{0.67, 2.36, 0.38}, {0.34, 3.59, 0.89}};
  double start = 0;
  while (start < length && requests.size() < kMaxRequests) {
    const double end = std::min(start + generator.LogNormal(2.58, 0.81), length);
    const double gap = 1 / generator.LogNormal(2.12, 0.33);
    for (double t = start; t < end; t += generator.Gamma(0.3, gap)) {
      TraceRequest request;
      request.arrival = Duration::Seconds(t);
      request.tenant = "azure-code";
      request.prompt = Rounded(DrawMixture(prompts, generator), 6, 7437);
      request.output = Rounded(DrawMixture(outputs, generator), 1, 1899);
      requests.push_back(std::move(request));
    }
    start = end + generator.LogNormal(3.06, 1.03);
  }
}

// --- chat: many tenants, each with its own profile.

// Log-normal through a median and its p90.
double DrawSpread(double median, double p90, Generator& generator) {
  return generator.LogNormal(std::log(median), std::log(p90 / median) / 1.2816);
}

std::vector<double> TenantShares(int tenants, double sigma, Generator& generator) {
  std::vector<double> shares(static_cast<size_t>(tenants));
  double sum = 0;
  for (double& share : shares) sum += share = generator.LogNormal(0, sigma);
  for (double& share : shares) share /= sum;
  return shares;
}

struct TenantProfile {
  double prompt_mu;
  double prompt_sigma;
  double output_mu;
  double output_sigma;
  double gap_shape;  // Shape of Gamma gaps: 1 / CV^2.
};

TenantProfile DrawProfile(Generator& generator) {
  constexpr double kCorrelation = 0.36;  // The logarithms of a tenant's median prompt and output.
  const double first = generator.Normal();
  const double second = kCorrelation * first + std::sqrt(1 - kCorrelation * kCorrelation) * generator.Normal();
  TenantProfile profile{};
  profile.prompt_mu = 6.31 + 1.02 * first;
  profile.prompt_sigma = std::min(DrawSpread(0.33, 0.76, generator), 1.5);
  profile.output_mu = std::max(0.0, 3.48 + 1.38 * second);
  profile.output_sigma = std::min(DrawSpread(0.72, 1.58, generator), 2.0);
  const double variation = std::clamp(DrawSpread(2.03, 6.24, generator), 0.8, 8.0);
  profile.gap_shape = 1 / (variation * variation);
  return profile;
}

void TenantRequests(const std::string& tenant, double rate, double length, Generator generator,
                    std::vector<TraceRequest>& requests) {
  const TenantProfile profile = DrawProfile(generator);
  // The first gap is cut by a uniform share so that bursty tenants do not all start at zero.
  double t = generator.Uniform() * generator.Gamma(profile.gap_shape, 1 / rate);
  for (; t < length && requests.size() < kMaxRequests; t += generator.Gamma(profile.gap_shape, 1 / rate)) {
    TraceRequest request;
    request.arrival = Duration::Seconds(t);
    request.tenant = tenant;
    request.prompt = Rounded(generator.LogNormal(profile.prompt_mu, profile.prompt_sigma), 1, 30712);
    request.output = Rounded(generator.LogNormal(profile.output_mu, profile.output_sigma), 1, 8192);
    requests.push_back(std::move(request));
  }
}

void Chat(double length, Generator& generator, std::vector<TraceRequest>& requests) {
  constexpr double kRate = 20;
  const std::vector<double> shares = TenantShares(40, 1.8, generator);
  for (size_t i = 0; i < shares.size(); ++i) {
    TenantRequests(absl::StrFormat("chat-c%02d", i), kRate * shares[i], length, generator.Split(), requests);
  }
}

// --- reasoning: long outputs.

void Reasoning(double length, Generator& generator, std::vector<TraceRequest>& requests) {
  static const LogNormalMixture prompts = {{0.12, 3.00, 0.86}, {0.29, 5.92, 0.26}, {0.59, 6.39, 1.27}};
  static const LogNormalMixture outputs = {{0.42, 5.97, 0.39}, {0.52, 6.46, 0.72}, {0.07, 8.99, 0.57}};
  // Gaussian copula for the rank correlation -0.26 of the trace.
  const double correlation = 2 * std::sin(M_PI * -0.26 / 6);
  const std::vector<double> shares = TenantShares(15, 1.61, generator);
  for (double at : CoxArrivals({5.010, 0.34, 0.77, 10}, length, generator)) {
    const double first = generator.Normal();
    const double second = correlation * first + std::sqrt(1 - correlation * correlation) * generator.Normal();
    TraceRequest request;
    request.arrival = Duration::Seconds(at);
    request.prompt = Rounded(MixtureQuantile(prompts, NormalCdf(first)), 1, 23357);
    request.output = Rounded(MixtureQuantile(outputs, NormalCdf(second)), 1, 32768);
    double pick = generator.Uniform();
    size_t tenant = 0;
    while (tenant + 1 < shares.size() && (pick -= shares[tenant]) > 0) ++tenant;
    request.tenant = absl::StrFormat("reasoning-c%02d", tenant);
    requests.push_back(std::move(request));
  }
}

using Builder = void (*)(double, Generator&, std::vector<TraceRequest>&);
struct Workload {
  const char* name;
  Builder build;
};
constexpr std::array<Workload, 26> kWorkloads = {{
    {"azure-conv", AzureConversation},
    {"azure-code", AzureCode},
    {"chat", Chat},
    {"reasoning", Reasoning},
    {"antiphase", AntiPhase},
    {"bursts", Bursts},
    {"flood", Flood},
    {"users", Users},
    {"jobs", Jobs},
    {"long-prompts", LongPrompts},
    {"mixture", Mixture},
    {"giants", Giants},
    {"documents", Documents},
    {"agentic", Agentic},
    {"fanout", Fanout},
    {"rag", Rag},
    {"two-classes", TwoClasses},
    {"three-classes", ThreeClasses},
    {"limits", Limits},
    {"impatient", Impatient},
    {"market", Market<20>},
    {"market-5", Market<5>},
    {"market-10", Market<10>},
    {"market-40", Market<40>},
    {"rotation", Rotation},
    {"multi-model", MultiModel},
}};

}  // namespace

const std::vector<std::string>& WorkloadNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    list.reserve(std::size(kWorkloads));
    for (const Workload& workload : kWorkloads) list.emplace_back(workload.name);
    return list;
  }();
  return names;
}

absl::StatusOr<Trace> GenerateWorkload(absl::string_view name, Duration length, uint64_t seed) {
  for (const Workload& workload : kWorkloads) {
    if (name != workload.name) continue;
    Trace trace;
    trace.source = absl::StrCat("generate:", name);
    trace.length = length;
    Generator generator(seed);
    workload.build(length.seconds(), generator, trace.requests);
    std::stable_sort(trace.requests.begin(), trace.requests.end(),
                     [](const TraceRequest& a, const TraceRequest& b) { return a.arrival < b.arrival; });
    return trace;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown workload \"", name, "\"; known: ", absl::StrJoin(WorkloadNames(), ", ")));
}

}  // namespace penstock::bench
