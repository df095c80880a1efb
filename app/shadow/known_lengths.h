// The newest output lengths of each model, to draw one where nobody knows it. Equal seeds draw alike. One owner.
#ifndef PENSTOCK_APP_SHADOW_KNOWN_LENGTHS_H_
#define PENSTOCK_APP_SHADOW_KNOWN_LENGTHS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/generator.h"
#include "base/ids.h"
#include "base/units.h"

namespace penstock {

class KnownLengths {
 public:
  static constexpr size_t kKept = 512;
  // The length of an output before any of the model is known.
  static constexpr Tokens kAssumed{256};

  explicit KnownLengths(uint64_t seed) : generator_(seed) {}

  void Add(ModelId model, Tokens output) {
    Model& known = Of(model);
    if (known.lengths.size() < kKept) {
      known.lengths.push_back(output);
    } else {
      known.lengths[known.next++ % kKept] = output;
    }
  }
  // At least `least`, and at most `limit` where that is above 0.
  Tokens Draw(ModelId model, Tokens least, Tokens limit) {
    const Model& known = Of(model);
    Tokens drawn = kAssumed;
    if (!known.lengths.empty()) {
      const double place = generator_.Uniform() * static_cast<double>(known.lengths.size());
      drawn = known.lengths[std::min(known.lengths.size() - 1, static_cast<size_t>(place))];
    }
    if (limit > Tokens(0)) drawn = std::min(drawn, limit);
    return std::max({drawn, least, Tokens(1)});
  }
  // The model is gone; its id may be given to another.
  void Forget(ModelId model) {
    if (model.value() < models_.size()) models_[model.value()] = Model();
  }

 private:
  struct Model {
    std::vector<Tokens> lengths;
    size_t next = 0;
  };
  Model& Of(ModelId model) {
    if (model.value() >= models_.size()) models_.resize(model.value() + 1);
    return models_[model.value()];
  }

  bench::Generator generator_;
  std::vector<Model> models_;
};

}  // namespace penstock

#endif  // PENSTOCK_APP_SHADOW_KNOWN_LENGTHS_H_
