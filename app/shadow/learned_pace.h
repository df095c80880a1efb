// The speed of each engine as a core learned it, from the times when that can be believed.
//
// A core takes all requests of a replica for its batch. While an engine has a queue of its own, its steps so seem
// faster than they are. This takes the mean of the learned factors over the seconds in which no request waited in the
// engine, by its newest report. Engines that report nothing are always believed. A factor is learned beside busy
// neighbours, whose part a simulated GPU adds by itself. Where a replica was seen without any, that counts. Else the
// expected part of the neighbours is taken out. A vacant place forgets its replica. One owner. O(replicas) a second.
#ifndef PENSTOCK_APP_SHADOW_LEARNED_PACE_H_
#define PENSTOCK_APP_SHADOW_LEARNED_PACE_H_

#include <algorithm>
#include <functional>
#include <vector>

#include "kvmodel/step_model.h"
#include "router/core/contract/event.h"
#include "router/core/contract/fleet.h"
#include "router/core/contract/vacancy.h"
#include "router/core/contract/view.h"

namespace penstock {

class LearnedPace {
 public:
  static constexpr Duration kPeriod = Duration::Seconds(1);
  // Samples without neighbours that count more than any beside some.
  static constexpr int64_t kEnough = 5;

  void Take(const Fleet& fleet) {
    replicas_.resize(std::max(replicas_.size(), fleet.replicas.size()));
    for (size_t i = 0; i < fleet.replicas.size(); ++i) {
      if (IsVacant(fleet.replicas[i])) replicas_[i] = Replica();
      replicas_[i].per_neighbour = fleet.replicas[i].time_sliced ? StepModel::kTimeSliced : StepModel::kMps;
    }
  }
  void Take(const EngineReport& report) {
    if (report.replica.value() < replicas_.size()) replicas_[report.replica.value()].queued = report.waiting > 0;
  }
  // At most once in kPeriod, asks for a view and takes its figures.
  void Sample(Instant now, const std::function<CoreView()>& view_of) {
    if (now - sampled_ < kPeriod) return;
    sampled_ = now;
    const CoreView view = view_of();
    for (size_t i = 0; i < std::min(replicas_.size(), view.replicas.size()); ++i) {
      if (view.replicas[i].running > 0 && !replicas_[i].queued) Mix(view.replicas[i], replicas_[i]);
    }
  }
  // Replicas of which nothing was learned have the factor 1.
  CoreView View() const {
    CoreView view;
    for (const Replica& replica : replicas_) {
      ReplicaView& shown = view.replicas.emplace_back();
      shown.step_factor = replica.alone.seen >= kEnough ? replica.alone.mean : replica.beside.mean;
      shown.host_time = replica.host_time.mean;
    }
    return view;
  }

 private:
  // The first figures count more, as in a mean of few.
  struct Mean {
    double mean = 1;
    int64_t seen = 0;
    void Add(double value) { mean += std::max(0.05, 1.0 / static_cast<double>(++seen)) * (value - mean); }
  };
  struct Replica {
    double per_neighbour = StepModel::kTimeSliced;
    bool queued = false;  // Requests wait in the engine.
    Mean alone;
    Mean beside;
    Mean host_time{0, 0};
  };

  static void Mix(const ReplicaView& seen, Replica& replica) {
    if (seen.busy_neighbours == 0) replica.alone.Add(seen.step_factor);
    replica.beside.Add(seen.step_factor / (1 + replica.per_neighbour * seen.busy_neighbours));
    replica.host_time.Add(seen.host_time);
  }

  Instant sampled_;
  std::vector<Replica> replicas_;
};

}  // namespace penstock

#endif  // PENSTOCK_APP_SHADOW_LEARNED_PACE_H_
