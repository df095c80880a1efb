// A linear model with bounded weights, fitted online by recursive least squares.
//
// The caller chooses the unit of errors, and the noise. Weights stay between zero and the bound of their row.
// Forgetting follows drift: no direction ever becomes less certain than at the start. Pure; equal calls give equal
// weights. Features that do not occur cost nothing but a test. A correction costs O(kFeatures^2).
#ifndef PENSTOCK_KVMODEL_LINEAR_FIT_H_
#define PENSTOCK_KVMODEL_LINEAR_FIT_H_

#include <algorithm>
#include <array>
#include <cstddef>

namespace penstock {

// The weight of a feature before anything was learned, its one-sigma uncertainty, and the most it may become.
struct FeaturePrior {
  double weight;
  double sigma;
  double most;
};

template <int kFeatures>
class LinearFit {
 public:
  // Padded with zeros to an even number, which lets the compiler take several at a time.
  static constexpr int kLanes = kFeatures + kFeatures % 2;
  using Vector = std::array<double, kLanes>;
  using Priors = std::array<FeaturePrior, kFeatures>;

  LinearFit() = default;
  explicit LinearFit(const Priors& priors) {
    for (int i = 0; i < kFeatures; ++i) {
      weights_[i] = priors[i].weight;
      covariance_[i][i] = priors[i].sigma * priors[i].sigma;
    }
  }

  const Vector& weights() const { return weights_; }
  // The weights of another fit, under the own uncertainty.
  void TakeWeights(const LinearFit& other) { weights_ = other.weights_; }

  static double Dot(const Vector& a, const Vector& b) {
    double sum = 0;
    for (int i = 0; i < kFeatures; ++i) sum += a[i] * b[i];
    return sum;
  }
  double Of(const Vector& features) const { return Dot(weights_, features); }

  // Moves the weights by an error of `scaled`, features in the unit of the error. `noise` is its expected variance.
  void Correct(const Priors& priors, Vector scaled, double error, double noise) {
    // A weight that would leave its bounds stops there and the others take up the rest. Clamping alone would let two
    // weights that are anticorrelated push each other away from the solution.
    for (int round = 0; round < kFeatures; ++round) {
      const Vector step = Times(scaled);
      const double gain = 1 / (noise + Dot(step, scaled));
      int leaving = 0;
      const auto leaves = [&](int i) {
        const double wanted = weights_[i] + gain * step[i] * error;
        return scaled[i] != 0 && (wanted < 0 || wanted > priors[i].most);
      };
      while (leaving < kFeatures && !leaves(leaving)) ++leaving;
      if (leaving == kFeatures) return Move(priors, step, gain, error);
      const double bound = step[leaving] * error < 0 ? 0 : priors[leaving].most;
      error -= scaled[leaving] * (bound - weights_[leaving]);
      weights_[leaving] = bound;
      Separate(leaving);
      scaled[leaving] = 0;
    }
  }

  // Takes a share of the way back to the uncertainty of the start. The mixture of two covariance matrices is one, so
  // that nothing can turn negative.
  void Forget(const Priors& priors, double share) {
    for (int i = 0; i < kFeatures; ++i) {
      for (int j = 0; j < kLanes; ++j) covariance_[i][j] *= 1 - share;
      covariance_[i][i] += share * priors[i].sigma * priors[i].sigma;
    }
  }

 private:
  // The matrix is symmetric, so rows may stand for columns.
  Vector Times(const Vector& vector) const {
    Vector product{};
    for (int j = 0; j < kFeatures; ++j) {
      if (vector[j] == 0) continue;
      for (int i = 0; i < kLanes; ++i) product[i] += covariance_[j][i] * vector[j];
    }
    return product;
  }

  void Move(const Priors& priors, const Vector& step, double gain, double error) {
    for (int i = 0; i < kFeatures; ++i) {
      weights_[i] = std::clamp(weights_[i] + gain * step[i] * error, 0.0, priors[i].most);
      const double share = gain * step[i];
      if (share == 0) continue;
      for (int j = 0; j < kLanes; ++j) covariance_[i][j] -= share * step[j];
    }
  }

  // Forgets the correlation of one weight's error with the others' errors.
  void Separate(int feature) {
    for (int i = 0; i < kFeatures; ++i) {
      if (i == feature) continue;
      covariance_[i][feature] = 0;
      covariance_[feature][i] = 0;
    }
  }

  Vector weights_{};
  std::array<Vector, kFeatures> covariance_{};
};

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_LINEAR_FIT_H_
