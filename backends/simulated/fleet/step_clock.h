// Runs the steps of simulated engines in real time on one io_context, with the GPUs that they share.
//
// GpuShare computes the end of each step. The next step begins at that instant even when the timer fires later, so late
// timers do not add up. A delay beyond 20 ms is not made up. Used on the thread of the io_context; call Add*() before
// it runs.
#ifndef PENSTOCK_BACKENDS_SIMULATED_FLEET_STEP_CLOCK_H_
#define PENSTOCK_BACKENDS_SIMULATED_FLEET_STEP_CLOCK_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <queue>
#include <vector>

#include "backends/simulated/engine/engine.h"
#include "backends/simulated/machine/gpu_share.h"

namespace penstock::simulated {

class StepClock {
 public:
  explicit StepClock(boost::asio::io_context& context) : timer_(context) {}

  int AddGpu(Sharing sharing) { return share_.AddGpu(sharing); }
  // The clock must live until the last Submit() to the engine.
  void AddEngine(std::shared_ptr<Engine> engine, const std::vector<int>& gpus);

 private:
  struct Later {
    bool operator()(const GpuShare::StepEnd& a, const GpuShare::StepEnd& b) const {
      return a.at != b.at ? a.at > b.at : a.replica > b.replica;
    }
  };

  void Begin(int replica, Instant now);
  void FinishDue();
  void Arm();
  void Note();
  bool Stale(const GpuShare::StepEnd& end) const { return share_.EndOf(end.replica) != end.at; }

  boost::asio::steady_timer timer_;
  GpuShare share_;
  std::vector<std::unique_ptr<boost::asio::steady_timer>> wakes_;  // One per engine, for the ends of its wakes.
  std::vector<std::shared_ptr<Engine>> engines_;                   // Indexed by the replica of share_.
  std::priority_queue<GpuShare::StepEnd, std::vector<GpuShare::StepEnd>, Later> ends_;  // Some entries are stale.
  std::vector<GpuShare::StepEnd> moved_;
  Instant armed_ = Instant::Never();
  bool finishing_ = false;
  bool elastic_ = false;  // Engines share memory: the end of one step may let another engine begin.
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_FLEET_STEP_CLOCK_H_
