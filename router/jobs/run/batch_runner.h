// Runs the batches of the job store: each from its validation to its end, over restarts of the router.
//
// A batch has a coroutine of its own, which reads top to bottom as its life: validation, its lines (LineFlow), its end.
// The state in the store decides where the coroutine begins, so a killed router continues each batch. The runner asks a
// store that fails again every second. Lives on the home loop. OnBatch, Start and Drain may be called by any thread,
// Stop on the home loop.
#ifndef PENSTOCK_ROUTER_JOBS_RUN_BATCH_RUNNER_H_
#define PENSTOCK_ROUTER_JOBS_RUN_BATCH_RUNNER_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "router/jobs/run/job.h"
#include "router/jobs/run/line_flow.h"
#include "router/jobs/run/line_reading.h"
#include "router/jobs/run/turn_gate.h"
#include "router/jobs/store/job_values.h"
#include "router/jobs/worker/job_thread.h"
#include "router/live/event_loop.h"

namespace penstock::jobs {

class BatchRunner {
 public:
  // Lines run on `loops`. The loops and the store outlive it.
  BatchRunner(EventLoop& home, std::vector<EventLoop*> loops, JobThread& store);

  // Goes on with the batches of the store. After the loops have a fleet.
  void Start();
  // A batch was made, or is to be cancelled.
  void OnBatch(BatchKey key);
  // No line begins any more; lines that wait go back to the store, and those at engines run on.
  void Drain();
  // The same, and lines at engines go back too. The home loop ends once they did.
  void Stop() { End(/*leave_engines=*/true); }

 private:
  void End(bool leave_engines);
  void Adopt(Batch batch);
  void Tick();
  void CountBatches();
  boost::asio::awaitable<void> GoOn();
  boost::asio::awaitable<void> Look(BatchKey key);

  // One batch, until it ended or the router does.
  boost::asio::awaitable<void> Serve(JobPointer job);
  boost::asio::awaitable<void> Validate(JobPointer job);
  boost::asio::awaitable<void> KeepErrors(JobPointer job);
  // The next slice of the input, in its turn; nullopt: the batch is interrupted.
  boost::asio::awaitable<std::optional<JobResult<ReadSlice>>> ReadSliceOf(JobPointer job);
  boost::asio::awaitable<void> RunLines(JobPointer job);
  // Every line that has no answer gets the error of an expired batch.
  boost::asio::awaitable<void> ExpireLines(JobPointer job);
  // Answers that were stored are not in their file any more.
  boost::asio::awaitable<void> FailWithoutAnswers(JobPointer job);
  boost::asio::awaitable<void> Finish(JobPointer job, BatchStatus end, std::string errors);
  boost::asio::awaitable<void> Pause();

  bool Interrupted(const Job& job) const;
  bool HasExpired(const Job& job) const;
  // Asks the store until it does not fail by its own fault, the router ends, or `job`, which may be null, is cancelled.
  template <class Work>
  boost::asio::awaitable<std::invoke_result_t<Work, JobStore&>> Ask(Work work, const Job* job = nullptr);

  EventLoop& home_;
  JobThread& store_;
  LineFlow flow_;
  TurnGate validations_;  // Slices of validations, one at a time: the store has other work.
  std::map<BatchKey, JobPointer> jobs_;
  boost::asio::steady_timer tick_;
  bool stopping_ = false;
};

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_RUN_BATCH_RUNNER_H_
