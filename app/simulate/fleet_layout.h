// Layouts of planned models on GPUs: how they are shared out, and the configuration of each.
#ifndef PENSTOCK_APP_SIMULATE_FLEET_LAYOUT_H_
#define PENSTOCK_APP_SIMULATE_FLEET_LAYOUT_H_

#include <optional>
#include <vector>

#include "app/simulate/fleet_plan.h"
#include "app/simulate/planned_models.h"
#include "config/config.h"

namespace penstock {

// The models on each group of GPUs, by position. A group of one model has as many GPUs as a replica of it needs, any
// other group has one. The models of a group that does not fit take turns: they sleep.
using FleetLayout = std::vector<std::vector<size_t>>;

// Makes layouts of the given models. A value that refers to its arguments, which outlive it.
class LayoutMaker {
 public:
  LayoutMaker(const std::vector<PlannedModel>& models, const GpuKind& kind);

  // Replicas in proportion to the models' work on `gpus` GPUs, largest weights first; nullopt where they do not fit.
  std::optional<FleetLayout> InProportion(int gpus) const;
  // The `busiest` models, and those that need several GPUs, as in the dedicated fleet; all others on every GPU left.
  // Nullopt where nothing is left to share, or where it does not fit and one of them may not sleep. Uses
  // PlannedModel::alone.
  std::optional<FleetLayout> SharedButFor(size_t busiest, int gpus) const;

  // The configuration of a layout: `like` with its GPUs and replicas replaced, without faults. Only replicas of a group
  // that does not fit sleep.
  Config ConfigOf(const FleetLayout& layout, const Config& like) const;
  // GPUs of a group of the layout.
  int GpusOf(const std::vector<size_t>& group) const;
  PlannedFleet Describe(const FleetLayout& layout, double on_time_share, double active_tokens_per_s) const;

 private:
  // Groups of one GPU each, filled model by model.
  struct Shared {
    FleetLayout groups;
    std::vector<double> load;
  };

  double AllWork() const;
  bool Fits(const std::vector<size_t>& group) const;
  // True: each of the models may sleep, and fits on a GPU by itself.
  bool MaySleep(const std::vector<size_t>& group) const;
  // The replica, of a group that does not fit, gives its memory back when others need it.
  void LetSleep(const PlannedModel& model, ReplicaConfig& replica) const;
  // Puts a replica on the least loaded group that has room and none of it yet; false without one.
  bool PlaceOn(Shared& shared, size_t model, double load) const;

  const std::vector<PlannedModel>& models_;
  const GpuKind& kind_;
  GpuRoom room_;
  std::vector<size_t> by_work_;  // Positions of models, most work first.
};

}  // namespace penstock

#endif  // PENSTOCK_APP_SIMULATE_FLEET_LAYOUT_H_
