// The requests of classes that do not give way, as they were sent to engines, by model.
//
// A server that is full of evictable requests gets no other request. So the demand of a model holds for each of its
// servers. It tells when the last request was sent, and whether a burst is under way. A burst is the rate of the last
// third of a second, where it is more than kOverMean times the mean of the last minute. New demand is a burst for its
// first kYoungSeconds / kOverMean. Owned by FleetState; RunningRequests notes what is sent. Sent is O(1), the others
// O(models).
#ifndef PENSTOCK_ROUTER_CORE_LEARNING_FIRM_DEMAND_H_
#define PENSTOCK_ROUTER_CORE_LEARNING_FIRM_DEMAND_H_

#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/units.h"

namespace penstock {

class FirmDemand {
 public:
  // With 0.1 s a burst has gaps, and jobs fill them; 0.5 s are as good on bench/scenarios/jobs.yaml.
  static constexpr double kBurstSeconds = 0.3;
  static constexpr double kMeanSeconds = 60;
  // Demand is taken to have lasted so long at least. With 60 s, the first jobs of a day wait for half a minute. With
  // 0.3 s, the first burst of a day finds prompts ahead of it.
  static constexpr double kYoungSeconds = 10;
  // The bursts of that scenario are at ten times the mean. With 3, bursts wait 1 to 2 % longer; so they do where prompt
  // tokens are counted in place of requests.
  static constexpr double kOverMean = 2;

  void Sent(ModelId model, Instant now);
  // The model is gone.
  void Forget(ModelId model);
  // True: a request of one of the models was sent somewhere less than `within` ago.
  bool Lately(const std::vector<ModelId>& models, Duration within, Instant now) const;
  // True: a burst for one of the models is under way.
  bool Bursts(const std::vector<ModelId>& models, Instant now) const;

 private:
  struct Demand {
    Instant first;
    Instant last;
    double recent = 0;   // Requests, decayed over kBurstSeconds.
    double lasting = 0;  // Requests, decayed over kMeanSeconds.

    bool Bursts(Instant now) const;
  };

  const Demand* Of(ModelId model) const;

  std::vector<std::optional<Demand>> models_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_LEARNING_FIRM_DEMAND_H_
