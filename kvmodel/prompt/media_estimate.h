// The tokens of a prompt's pictures, sounds and tensors: by the rule of the model's family at first, then as engines
// count them.
//
// A tensor (prompt_embeds) has a row per token, and its size is that of the model's hidden state. Until usage tells it,
// 4 KiB count as a token: 2048 numbers of 16 bits. The error is so large at first that nothing is refused by it, and
// that the upper bound covers rows of 1.5 KiB.
//
// One linear model per served model, fitted to usage.prompt_tokens less the estimate of the text. So an engine that
// gives each picture a constant, shrinks pictures or samples sound in its own way is followed. Not thread-safe.
#ifndef PENSTOCK_KVMODEL_MEDIA_ESTIMATE_H_
#define PENSTOCK_KVMODEL_MEDIA_ESTIMATE_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "kvmodel/prompt/linear_fit.h"
#include "kvmodel/prompt/media_counts.h"

namespace penstock {

// Tokens and the standard error of their number.
struct MediaTokens {
  double tokens = 0;
  double sigma = 0;
};

class MediaEstimator {
 public:
  MediaTokens Estimate(ModelId model, MediaFamily family, const MediaCounts& counts) const;
  // Learns from tokens that an engine counted beside the text. `text_sigma` is the standard error of the text's tokens.
  void Observe(ModelId model, MediaFamily family, const MediaCounts& counts, double tokens, double text_sigma);
  // These models are gone, by id.
  void Forget(const std::vector<bool>& models) {
    absl::erase_if(models_, [&models](const auto& each) {
      return each.first.value() < models.size() && models[each.first.value()];
    });
  }

 private:
  // Tokens by the rule: pictures, those of low detail, those of unknown size, sound. Then counts: pictures of known
  // size, opaque parts, tensors.
  using Fit = LinearFit<7>;
  using Vector = Fit::Vector;
  // The squared relative error of recent estimates.
  struct Spread {
    double squared;
    int64_t observations = 0;
    void Learn(double error);
  };
  struct State {
    State();
    Fit fit;
    Spread known;  // The error where all parts tell their size.
    Spread vague;  // The error elsewhere, relative to the parts that do not.
    Spread rows;   // The error of tensors.
  };
  static Vector Features(MediaFamily family, const MediaCounts& counts);
  // The tokens of the parts that do not tell their size.
  static double VagueTokens(const Fit& fit, const Vector& features);

  absl::flat_hash_map<ModelId, State> models_;
};

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_MEDIA_ESTIMATE_H_
