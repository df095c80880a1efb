// When requests of classes that do not give way were sent to engines last, by model.
//
// A server that is full of evictable requests gets no other request. So the demand of a model holds for each of its
// servers. Owned by FleetState; RunningRequests notes what is sent. Sent is O(1), Lately O(models).
#ifndef PENSTOCK_ROUTER_CORE_LEARNING_FIRM_DEMAND_H_
#define PENSTOCK_ROUTER_CORE_LEARNING_FIRM_DEMAND_H_

#include <algorithm>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/units.h"

namespace penstock {

class FirmDemand {
 public:
  void Sent(ModelId model, Instant now) {
    if (model.value() >= last_.size()) last_.resize(model.value() + 1);
    last_[model.value()] = now;
  }
  // The model is gone.
  void Forget(ModelId model) {
    if (model.value() < last_.size()) last_[model.value()].reset();
  }
  // True: a request of one of the models was sent somewhere less than `within` ago.
  bool Lately(const std::vector<ModelId>& models, Duration within, Instant now) const {
    return std::any_of(models.begin(), models.end(), [&](ModelId model) {
      return model.value() < last_.size() && last_[model.value()] && now - *last_[model.value()] < within;
    });
  }

 private:
  std::vector<std::optional<Instant>> last_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_LEARNING_FIRM_DEMAND_H_
