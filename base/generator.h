// The bench's own random generator and distributions: equal seeds give equal draws on every machine.
//
// Parameters are those of the fits in the header of workload.h. A value; not thread-safe.
#ifndef PENSTOCK_BASE_GENERATOR_H_
#define PENSTOCK_BASE_GENERATOR_H_

#include <cstdint>
#include <vector>

namespace penstock::bench {

// SplitMix64: a counter passed through a bijective mixer. Period 2^64, enough for any workload here.
class Generator {
 public:
  explicit Generator(uint64_t seed) : state_(seed) {}

  uint64_t Next();
  // Uniform in (0, 1): never 0, never 1.
  double Uniform();
  // Standard normal, by the inverse of the distribution function (one Uniform per draw).
  double Normal();
  double Exponential(double mean);
  // exp(mu + sigma*N).
  double LogNormal(double mu, double sigma);
  // Gamma with shape k > 0 and the given mean.
  double Gamma(double shape, double mean);
  // An independent stream, e.g. one per tenant.
  Generator Split();

 private:
  double StandardGamma(double shape);
  uint64_t state_;
};

// Inverse of the standard normal distribution function, p in (0, 1); relative error below 1e-8.
double NormalQuantile(double p);
// The standard normal distribution function.
double NormalCdf(double x);

// Mixture of log-normals; weights need not add up to exactly one.
struct LogNormalPart {
  double weight;
  double mu;
  double sigma;
};
using LogNormalMixture = std::vector<LogNormalPart>;

double MixtureCdf(const LogNormalMixture& mixture, double value);
// Value at probability p, by bisection on the logarithm.
double MixtureQuantile(const LogNormalMixture& mixture, double p);
double DrawMixture(const LogNormalMixture& mixture, Generator& generator);

}  // namespace penstock::bench

#endif  // PENSTOCK_BASE_GENERATOR_H_
