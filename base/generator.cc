#include "base/generator.h"

#include <algorithm>
#include <cmath>

namespace penstock::bench {

uint64_t Generator::Next() {
  state_ += 0x9E3779B97F4A7C15u;
  uint64_t x = state_;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

double Generator::Uniform() { return (static_cast<double>(Next() >> 12) + 0.5) * 0x1p-52; }

double Generator::Normal() { return NormalQuantile(Uniform()); }

double Generator::Exponential(double mean) { return -mean * std::log(Uniform()); }

double Generator::LogNormal(double mu, double sigma) { return std::exp(mu + sigma * Normal()); }

double Generator::Gamma(double shape, double mean) { return StandardGamma(shape) * mean / shape; }

Generator Generator::Split() { return Generator(Next()); }

double Generator::StandardGamma(double shape) {
  // Marsaglia and Tsang's rejection needs shape >= 1; below, a draw at shape + 1 is scaled by a power of a uniform.
  if (shape < 1) return StandardGamma(shape + 1) * std::pow(Uniform(), 1 / shape);
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = Normal();
    const double v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(Uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

double NormalCdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

double NormalQuantile(double p) {
  // Newton steps on the distribution function refine a rough start (Tukey lambda). The upper half mirrors the lower
  // one, where the function's relative precision is best.
  if (p > 0.5) return -NormalQuantile(1 - p);
  double x = p > 1e-3 ? (std::pow(p, 0.1349) - std::pow(1 - p, 0.1349)) / 0.1975 : -std::sqrt(-2 * std::log(p));
  for (int i = 0; i < 12; ++i) {
    const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * M_PI);
    // The step is taken in log space where the tail is thin, so that it cannot overshoot.
    const double step = std::log(NormalCdf(x) / p) * NormalCdf(x) / density;
    x -= step;
    if (std::fabs(step) < 1e-10) break;
  }
  return x;
}

double MixtureCdf(const LogNormalMixture& mixture, double value) {
  if (value <= 0) return 0;
  double sum = 0;
  double weights = 0;
  for (const LogNormalPart& part : mixture) {
    sum += part.weight * NormalCdf((std::log(value) - part.mu) / part.sigma);
    weights += part.weight;
  }
  return sum / weights;
}

double MixtureQuantile(const LogNormalMixture& mixture, double p) {
  double low = -5;
  double high = 20;
  for (int i = 0; i < 50; ++i) {
    const double middle = 0.5 * (low + high);
    (MixtureCdf(mixture, std::exp(middle)) < p ? low : high) = middle;
  }
  return std::exp(0.5 * (low + high));
}

double DrawMixture(const LogNormalMixture& mixture, Generator& generator) {
  double weights = 0;
  for (const LogNormalPart& part : mixture) weights += part.weight;
  double pick = generator.Uniform() * weights;
  for (const LogNormalPart& part : mixture) {
    pick -= part.weight;
    if (pick <= 0) return generator.LogNormal(part.mu, part.sigma);
  }
  return generator.LogNormal(mixture.back().mu, mixture.back().sigma);
}

}  // namespace penstock::bench
