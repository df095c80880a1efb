// One batch at work, as the objects of the home loop share it.
#ifndef PENSTOCK_ROUTER_JOBS_RUN_JOB_H_
#define PENSTOCK_ROUTER_JOBS_RUN_JOB_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/units.h"
#include "router/jobs/run/line_run.h"
#include "router/jobs/store/job_values.h"
#include "router/live/signal.h"

namespace penstock::jobs {

// Faults that the batch itself tells of.
struct JobFaults {
  std::vector<std::string> input;  // BatchErrorJson, as far as this run of the router read the input.
  std::string too_large;           // Filled: its outputs are too large, and it fails with this message.
  bool gone = false;               // The bytes of its answers are gone: it fails.
};

struct Job {
  Job(boost::asio::io_context& home, Batch its_batch) : batch(std::move(its_batch)), wake(home) {}

  Batch batch;  // Counts grow here as answers are stored.
  Instant began;
  Instant deadline;
  Endpoint endpoint = Endpoint::kChat;
  std::map<uint64_t, std::deque<LineTask>> at_hand;  // The key is the lane. None is empty.
  int64_t bytes_at_hand = 0;                         // The bodies of those lines.
  std::map<int64_t, std::string> refusals;           // The key is the line, which is at hand or in a run.
  std::set<uint64_t> served;                         // Lanes of which a line had its answer.
  std::unordered_set<std::shared_ptr<LineRun>> runs;
  int64_t storing = 0;    // Answers on their way to the disk.
  bool claiming = false;  // A read of lines is on its way.
  bool drained = false;   // The store has no further lines.
  bool stopped = false;   // No line begins any more.
  JobFaults faults;
  Signal wake;  // Something changed for the batch's own coroutine.

  // Something of it is under way that ends whatever the disk takes.
  bool busy() const { return !runs.empty() || claiming; }
  // Nothing of it is under way.
  bool quiet() const { return !busy() && storing == 0; }
  // Every line has its answer.
  bool done() const { return drained && !stopped && at_hand.empty() && quiet(); }
};

using JobPointer = std::shared_ptr<Job>;

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_RUN_JOB_H_
