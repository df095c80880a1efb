// The models of a fleet as a plan sees them: their sizes, their share of the work, their part of the trace.
#ifndef PENSTOCK_APP_SIMULATE_PLANNED_MODELS_H_
#define PENSTOCK_APP_SIMULATE_PLANNED_MODELS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/traces/trace.h"
#include "config/config.h"
#include "kvmodel/step_coefficients.h"

namespace penstock {

struct PlannedModel {
  std::string name;
  ReplicaConfig like;    // A replica of the configuration, whose engine limits are copied.
  double weights = 0;    // Bytes of the whole model.
  double per_token = 0;  // Bytes of cache per token.
  int ranks = 1;         // GPUs of one replica.
  int alone = 0;         // Replicas that it needs on GPUs of its own; 0: it has no requests.
  double work = 0;       // Tokens of its requests, weighted by its size: GPUs are shared in proportion to it.
};

// The memory of one GPU kind, as engines share it.
class GpuRoom {
 public:
  explicit GpuRoom(const GpuKind& kind) : kind_(kind) {}

  // Bytes that engines may use on `ranks` GPUs.
  double Usable(int ranks) const;
  // Bytes that a replica of the model needs on `ranks` GPUs, the least useful cache included.
  double NeededBy(const PlannedModel& model, int ranks) const;
  // The cache of a replica that sleeps, and the bytes that it takes on its GPU while it is awake.
  double SleeperCache(const PlannedModel& model) const;
  double SleeperNeeds(const PlannedModel& model) const;
  // Bytes of elastic cache beside these weights of `engines` engines on one GPU.
  double Elastic(double weights, size_t engines) const;

 private:
  const GpuKind& kind_;
};

// The models that the configuration's replicas serve, with their work in the trace. InvalidArgument: an unknown shape,
// a model that no eight GPUs hold, or "file:line: ..." for a request whose model nothing serves.
absl::StatusOr<std::vector<PlannedModel>> PlannedModelsOf(const Config& config, const bench::Trace& trace,
                                                          const GpuKind& kind);

// The position of the model that serves a name of the trace; models.size() without one.
size_t PlannedModelOf(const Config& config, const std::vector<PlannedModel>& models, const std::string& name);

}  // namespace penstock

#endif  // PENSTOCK_APP_SIMULATE_PLANNED_MODELS_H_
