// Runs the steps of simulated engines in real time on one io_context, with the GPUs that they share.
//
// A step ends at the instant that GpuShare computes, and the next one begins at that instant even where the timer fires
// a little later: late timers do not add up. Engines whose process falls behind by more than 20 ms lose the rest of the
// delay. Used on the io_context's thread; Add*() before it runs.
#ifndef PENSTOCK_BACKENDS_SIMULATED_STEP_CLOCK_H_
#define PENSTOCK_BACKENDS_SIMULATED_STEP_CLOCK_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <queue>
#include <vector>

#include "backends/simulated/engine.h"
#include "backends/simulated/gpu_share.h"

namespace penstock::simulated {

// The steady clock as an Instant.
Instant SteadyNow();

class StepClock {
 public:
  explicit StepClock(boost::asio::io_context& context) : timer_(context) {}

  int AddGpu(Sharing sharing) { return share_.AddGpu(sharing); }
  // The clock must not be destroyed before the last Submit() to the engine.
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
  std::vector<std::shared_ptr<Engine>> engines_;                                        // By replica of share_.
  std::priority_queue<GpuShare::StepEnd, std::vector<GpuShare::StepEnd>, Later> ends_;  // Some are stale.
  std::vector<GpuShare::StepEnd> moved_;
  Instant armed_ = Instant::Never();
  bool finishing_ = false;
  bool elastic_ = false;  // Some engines share memory: one may be able to begin because another ended.
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_STEP_CLOCK_H_
